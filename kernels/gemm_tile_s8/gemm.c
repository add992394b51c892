// The tile: for each k, one row of 16 weights is loaded and widened once, and every token
// multiplies it by its own scalar. Weights are read exactly once, whatever the number of tokens,
// which is what matters in LLM decoding, where they come from DRAM.

#include "gemm.h"

#include <riscv_vector.h>

#ifndef UNROLL
#define UNROLL 1 // k in a round of the loop, as variants.toml varies it
#endif

// One k. `tokens` is a constant in each copy, so the conditions vanish and only the accumulators in
// use exist: 8 x m2 and two registers for the weights, 18 of 32. vle8.v carries its own element
// width, hence one vsetvli (e16, m1) serves load, extension and multiplication.
static inline __attribute__((always_inline)) void
step(const size_t tokens, size_t vl, const int8_t *a, const int8_t *w, vint32m2_t *acc0,
     vint32m2_t *acc1, vint32m2_t *acc2, vint32m2_t *acc3, vint32m2_t *acc4, vint32m2_t *acc5,
     vint32m2_t *acc6, vint32m2_t *acc7) {
    const vint16m1_t row = __riscv_vsext_vf2_i16m1(__riscv_vle8_v_i8mf2(w, vl), vl);
    *acc0 = __riscv_vwmacc_vx_i32m2(*acc0, a[0], row, vl);
    if (tokens > 1) *acc1 = __riscv_vwmacc_vx_i32m2(*acc1, a[1], row, vl);
    if (tokens > 2) *acc2 = __riscv_vwmacc_vx_i32m2(*acc2, a[2], row, vl);
    if (tokens > 3) *acc3 = __riscv_vwmacc_vx_i32m2(*acc3, a[3], row, vl);
    if (tokens > 4) *acc4 = __riscv_vwmacc_vx_i32m2(*acc4, a[4], row, vl);
    if (tokens > 5) *acc5 = __riscv_vwmacc_vx_i32m2(*acc5, a[5], row, vl);
    if (tokens > 6) *acc6 = __riscv_vwmacc_vx_i32m2(*acc6, a[6], row, vl);
    if (tokens > 7) *acc7 = __riscv_vwmacc_vx_i32m2(*acc7, a[7], row, vl);
}

static inline __attribute__((always_inline)) void tile(const size_t tokens, size_t vl, size_t k,
                                                       const int8_t *a, const int8_t *w,
                                                       int32_t *c, size_t c_stride) {
    // Zeros made by a widening product need no other vtype than the loop; with a plain e32 move,
    // clang sets vtype in every iteration.
    vint32m2_t acc0 = __riscv_vwmul_vx_i32m2(__riscv_vmv_v_x_i16m1(0, vl), 0, vl);
    vint32m2_t acc1 = acc0, acc2 = acc0, acc3 = acc0, acc4 = acc0, acc5 = acc0, acc6 = acc0,
               acc7 = acc0;
    const int8_t *const rounds_end = a + k / UNROLL * UNROLL * tokens;
    const int8_t *const end = a + k * tokens;
    while (UNROLL > 1 && a != rounds_end) {
#pragma clang loop unroll(full)
        for (int i = 0; i < UNROLL; i++, a += tokens, w += GEMM_CHANNELS) {
            step(tokens, vl, a, w, &acc0, &acc1, &acc2, &acc3, &acc4, &acc5, &acc6, &acc7);
        }
    }
#pragma clang loop unroll(disable)
    for (; a != end; a += tokens, w += GEMM_CHANNELS) {
        step(tokens, vl, a, w, &acc0, &acc1, &acc2, &acc3, &acc4, &acc5, &acc6, &acc7);
    }
    __riscv_vse32_v_i32m2(c, acc0, vl);
    if (tokens > 1) __riscv_vse32_v_i32m2(c + 1 * c_stride, acc1, vl);
    if (tokens > 2) __riscv_vse32_v_i32m2(c + 2 * c_stride, acc2, vl);
    if (tokens > 3) __riscv_vse32_v_i32m2(c + 3 * c_stride, acc3, vl);
    if (tokens > 4) __riscv_vse32_v_i32m2(c + 4 * c_stride, acc4, vl);
    if (tokens > 5) __riscv_vse32_v_i32m2(c + 5 * c_stride, acc5, vl);
    if (tokens > 6) __riscv_vse32_v_i32m2(c + 6 * c_stride, acc6, vl);
    if (tokens > 7) __riscv_vse32_v_i32m2(c + 7 * c_stride, acc7, vl);
}

// All channels for a fixed number of tokens. Where VLEN >= 256, a block of 16 channels is one
// strip; at VLEN 128 its columns take two, with the same packed weights.
static inline __attribute__((always_inline)) void blocks(const size_t tokens, size_t channels,
                                                         size_t k, const int8_t *a,
                                                         const int8_t *w, int32_t *c,
                                                         size_t c_stride) {
    for (size_t first = 0; first < channels; first += GEMM_CHANNELS, w += k * GEMM_CHANNELS) {
        const size_t left = channels - first;
        const size_t columns = left < GEMM_CHANNELS ? left : GEMM_CHANNELS;
        for (size_t column = 0; column < columns;) {
            const size_t vl = __riscv_vsetvl_e16m1(columns - column);
            tile(tokens, vl, k, a, w + column, c + first + column, c_stride);
            column += vl;
        }
    }
}

// One function for each number of tokens, not inlined, so that each has its own symbol in profiles.
#define SPECIALISE(tokens)                                                                         \
    static __attribute__((noinline)) void gemm_tile_s8_x##tokens(                                  \
        size_t channels, size_t k, const int8_t *a, const int8_t *w, int32_t *c,                   \
        size_t c_stride) {                                                                         \
        blocks(tokens, channels, k, a, w, c, c_stride);                                            \
    }

SPECIALISE(1)
SPECIALISE(2)
SPECIALISE(3)
SPECIALISE(4)
SPECIALISE(5)
SPECIALISE(6)
SPECIALISE(7)
SPECIALISE(8)

void gemm_tile_s8(size_t tokens, size_t channels, size_t k, const int8_t *a, const int8_t *w,
                  int32_t *c, size_t c_stride) {
    typedef void tile_function(size_t, size_t, const int8_t *, const int8_t *, int32_t *, size_t);
    static tile_function *const by_tokens[GEMM_MAX_TOKENS] = {
        gemm_tile_s8_x1, gemm_tile_s8_x2, gemm_tile_s8_x3, gemm_tile_s8_x4,
        gemm_tile_s8_x5, gemm_tile_s8_x6, gemm_tile_s8_x7, gemm_tile_s8_x8,
    };
    by_tokens[tokens - 1](channels, k, a, w, c, c_stride);
}

void gemm_pack_activations(size_t tokens, size_t k, const int8_t *rows, int8_t *packed) {
    for (size_t i = 0; i < k; i++) {
        for (size_t t = 0; t < tokens; t++) {
            *packed++ = rows[t * k + i];
        }
    }
}

void gemm_pack_weights(size_t channels, size_t k, const int8_t *rows, int8_t *packed) {
    for (size_t first = 0; first < channels; first += GEMM_CHANNELS) {
        for (size_t i = 0; i < k; i++) {
            for (size_t n = first; n < first + GEMM_CHANNELS; n++) {
                *packed++ = n < channels ? rows[n * k + i] : 0;
            }
        }
    }
}
