// For each k, one row of weights is loaded and every token multiplies it by its own scalar. LMUL 4 is
// the one to use: the same work in a quarter of the instructions of LMUL 1, and each vfmacc long
// enough to hide the latency of the one before.

#include "gemm.h"

#include <riscv_vector.h>

#ifndef LMUL
#define LMUL 4 // 1, 2 or 4, as variants.toml varies it
#endif

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define M PASTE(m, LMUL)
#define F32(operation) PASTE(__riscv_, PASTE(operation, PASTE(_f32, M)))
#define SETVL PASTE(__riscv_vsetvl_e32, M)

typedef PASTE(vfloat32, PASTE(M, _t)) floats;

// `tokens` is a constant in each copy, so the conditions vanish and only the accumulators in use
// exist. At LMUL 4, seven of them and the weights are all 32 registers.
static inline __attribute__((always_inline)) void tile(const size_t tokens, size_t vl,
                                                             size_t k, const float *a,
                                                             const float *w, float *c,
                                                             size_t c_stride) {
    floats acc0 = F32(vfmv_v_f)(0, vl);
    floats acc1 = acc0, acc2 = acc0, acc3 = acc0, acc4 = acc0, acc5 = acc0, acc6 = acc0;
    for (const float *end = a + k * tokens; a != end; a += tokens, w += GEMM_CHANNELS) {
        const floats row = F32(vle32_v)(w, vl);
        acc0 = F32(vfmacc_vf)(acc0, a[0], row, vl);
        if (tokens > 1) acc1 = F32(vfmacc_vf)(acc1, a[1], row, vl);
        if (tokens > 2) acc2 = F32(vfmacc_vf)(acc2, a[2], row, vl);
        if (tokens > 3) acc3 = F32(vfmacc_vf)(acc3, a[3], row, vl);
        if (tokens > 4) acc4 = F32(vfmacc_vf)(acc4, a[4], row, vl);
        if (tokens > 5) acc5 = F32(vfmacc_vf)(acc5, a[5], row, vl);
        if (tokens > 6) acc6 = F32(vfmacc_vf)(acc6, a[6], row, vl);
    }
    F32(vse32_v)(c, acc0, vl);
    if (tokens > 1) F32(vse32_v)(c + 1 * c_stride, acc1, vl);
    if (tokens > 2) F32(vse32_v)(c + 2 * c_stride, acc2, vl);
    if (tokens > 3) F32(vse32_v)(c + 3 * c_stride, acc3, vl);
    if (tokens > 4) F32(vse32_v)(c + 4 * c_stride, acc4, vl);
    if (tokens > 5) F32(vse32_v)(c + 5 * c_stride, acc5, vl);
    if (tokens > 6) F32(vse32_v)(c + 6 * c_stride, acc6, vl);
}

// All channels for a fixed number of tokens. A block of 32 channels is one strip where LMUL * VLEN
// is 1024 bits or more; below, its columns take several, with the same packed weights.
static inline __attribute__((always_inline)) void blocks(const size_t tokens,
                                                               size_t channels, size_t k,
                                                               const float *a, const float *w,
                                                               float *c, size_t c_stride) {
    for (size_t first = 0; first < channels; first += GEMM_CHANNELS, w += k * GEMM_CHANNELS) {
        const size_t left = channels - first;
        const size_t columns = left < GEMM_CHANNELS ? left : GEMM_CHANNELS;
        for (size_t column = 0; column < columns;) {
            const size_t vl = SETVL(columns - column);
            tile(tokens, vl, k, a, w + column, c + first + column, c_stride);
            column += vl;
        }
    }
}

// One function for each number of tokens, not inlined, so that each has its own symbol in profiles.
#define FOR_TOKENS(tokens) PASTE(gemm_tile_f32, PASTE(_x, tokens))
#define SPECIALISE(tokens)                                                                         \
    static __attribute__((noinline)) void FOR_TOKENS(tokens)(                                      \
        size_t channels, size_t k, const float *a, const float *w, float *c, size_t c_stride) {    \
        blocks(tokens, channels, k, a, w, c, c_stride);                                      \
    }

SPECIALISE(1)
SPECIALISE(2)
SPECIALISE(3)
SPECIALISE(4)
SPECIALISE(5)
SPECIALISE(6)
SPECIALISE(7)

void gemm_tile_f32(size_t tokens, size_t channels, size_t k, const float *a, const float *w,
                         float *c, size_t c_stride) {
    typedef void tile_function(size_t, size_t, const float *, const float *, float *, size_t);
    static tile_function *const by_tokens[GEMM_MAX_TOKENS] = {
        FOR_TOKENS(1), FOR_TOKENS(2), FOR_TOKENS(3), FOR_TOKENS(4),
        FOR_TOKENS(5), FOR_TOKENS(6), FOR_TOKENS(7),
    };
    by_tokens[tokens - 1](channels, k, a, w, c, c_stride);
}

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
