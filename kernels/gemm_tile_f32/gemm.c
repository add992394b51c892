// For each k, one row of weights is loaded and every token multiplies it by its own scalar; the
// code is in gemm_lmul.h. LMUL 4 is the one to use: the same work in a quarter of the instructions
// of LMUL 1, and each vfmacc long enough to hide the latency of the one before.

#include "gemm.h"

#include <riscv_vector.h>

#define LMUL 1
#include "gemm_lmul.h"

#define LMUL 2
#include "gemm_lmul.h"

#define LMUL 4
#include "gemm_lmul.h"

void gemm_pack_activations(size_t tokens, size_t k, const float *rows, float *packed) {
    for (size_t i = 0; i < k; i++) {
        for (size_t t = 0; t < tokens; t++) {
            *packed++ = rows[t * k + i];
        }
    }
}

void gemm_pack_weights(size_t channels, size_t k, const float *rows, float *packed) {
    for (size_t first = 0; first < channels; first += GEMM_CHANNELS) {
        for (size_t i = 0; i < k; i++) {
            for (size_t n = first; n < first + GEMM_CHANNELS; n++) {
                *packed++ = n < channels ? rows[n * k + i] : 0;
            }
        }
    }
}
