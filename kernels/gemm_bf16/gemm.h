// bf16 matrix product with sums in float on tiles of 32 output channels and 1 to 6 tokens, for
// cores without bf16 arithmetic.

#ifndef GEMM_BF16_H
#define GEMM_BF16_H

#include <stddef.h>
#include <stdint.h>

typedef uint16_t bf16; // the upper half of a float

enum { GEMM_CHANNELS = 32, GEMM_MAX_TOKENS = 6 };

// c[t * c_stride + n] = sum over i of a[i * tokens + t] * w[n / 32][i][n % 32]
//
// Each sum starts with +0, takes its products in the order of i as fused multiply-adds in float,
// and is rounded to bf16 once, to nearest even. NaN becomes the canonical NaN, 0x7fc0.
//
//   tokens    1 to 6
//   channels  any; the last block of w is padded to 32, c is not written beyond `channels`
//   a         packed [k][tokens], widened
//   w         packed [block][k][32]
//   c_stride  in elements
void gemm_bf16(size_t tokens, size_t channels, size_t k, const float *a, const bf16 *w, bf16 *c,
               size_t c_stride);

// Row-major [tokens][k] to the [k][tokens] of floats that gemm_bf16 reads.
void gemm_pack_activations(size_t tokens, size_t k, const bf16 *rows, float *packed);

// Row-major [channels][k] to [block][k][32], the last block padded with zeros.
void gemm_pack_weights(size_t channels, size_t k, const bf16 *rows, bf16 *packed);

// The same product from the row-major matrices, one multiplication at a time.
void gemm_scalar(size_t tokens, size_t channels, size_t k, const bf16 *a_rows, const bf16 *w_rows,
                 bf16 *c, size_t c_stride);

#endif
