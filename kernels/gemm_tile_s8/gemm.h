// int8 x int8 -> int32 matrix product on tiles of 16 output channels and 1 to 8 tokens.

#ifndef GEMM_TILE_S8_H
#define GEMM_TILE_S8_H

#include <stddef.h>
#include <stdint.h>

enum { GEMM_CHANNELS = 16, GEMM_MAX_TOKENS = 8 };

// c[t * c_stride + n] = sum over i of a[i * tokens + t] * w[n / 16][i][n % 16]
//
//   tokens    1 to 8
//   channels  any; the last block of w is padded to 16, c is not written beyond `channels`
//   a         packed [k][tokens]
//   w         packed [block][k][16]
//   c_stride  in elements
void gemm_tile_s8(size_t tokens, size_t channels, size_t k, const int8_t *a, const int8_t *w,
                  int32_t *c, size_t c_stride);

// Row-major [tokens][k] to the [k][tokens] that gemm_tile_s8 reads.
void gemm_pack_activations(size_t tokens, size_t k, const int8_t *rows, int8_t *packed);

// Row-major [channels][k] to [block][k][16], the last block padded with zeros.
void gemm_pack_weights(size_t channels, size_t k, const int8_t *rows, int8_t *packed);

// The same product from the row-major matrices, one multiplication at a time.
void gemm_scalar(size_t tokens, size_t channels, size_t k, const int8_t *a_rows,
                 const int8_t *w_rows, int32_t *c, size_t c_stride);

#endif
