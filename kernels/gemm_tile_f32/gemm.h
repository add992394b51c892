// float matrix product on tiles of 32 output channels and 1 to 7 tokens.

#ifndef GEMM_TILE_F32_H
#define GEMM_TILE_F32_H

#include <stddef.h>

enum { GEMM_CHANNELS = 32, GEMM_MAX_TOKENS = 7 };

// c[t * c_stride + n] = sum over i of a[i * tokens + t] * w[n / 32][i][n % 32]
//
// Each sum starts with +0 and takes its products in the order of i with one rounding for each
// (fused multiply-add), so it depends neither on LMUL nor on VLEN.
//
//   tokens    1 to 7
//   channels  any; the last block of w is padded to 32, c is not written beyond `channels`
//   a         packed [k][tokens]
//   w         packed [block][k][32]
//   c_stride  in elements
void gemm_tile_f32(size_t tokens, size_t channels, size_t k, const float *a, const float *w,
                   float *c, size_t c_stride);

// Row-major [tokens][k] to the [k][tokens] that gemm_tile_f32 reads.
void gemm_pack_activations(size_t tokens, size_t k, const float *rows, float *packed);

// Row-major [channels][k] to [block][k][32], the last block padded with zeros.
void gemm_pack_weights(size_t channels, size_t k, const float *rows, float *packed);

// The same product from the row-major matrices, one multiplication at a time.
void gemm_scalar(size_t tokens, size_t channels, size_t k, const float *a_rows, const float *w_rows,
                 float *c, size_t c_stride);

#endif
