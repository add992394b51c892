// Weights are half as many bytes as floats, which is what matters in LLM decoding, where they come
// from DRAM. Widening is exact and takes two instructions for each row of weights, however many the
// tokens; activations are few and widened when they are packed.

#include "gemm.h"

#include <riscv_vector.h>

// vle16.v carries its own element width, so one vsetvli (e32, m4) serves the loop.
static inline vfloat32m4_t load_row(const bf16 *w, size_t vl) {
    const vuint32m4_t wide = __riscv_vzext_vf2_u32m4(__riscv_vle16_v_u16m2(w, vl), vl);
    return __riscv_vreinterpret_v_u32m4_f32m4(__riscv_vsll_vx_u32m4(wide, 16, vl));
}

// Adding just under half of the last place, and one more where the last place is odd, carries into
// the upper half exactly when rounding to nearest even goes up; infinity needs no case of its own.
static inline void store_row(bf16 *c, vfloat32m4_t sum, size_t vl) {
    const vuint32m4_t bits = __riscv_vreinterpret_v_f32m4_u32m4(sum);
    const vuint32m4_t odd = __riscv_vand_vx_u32m4(__riscv_vsrl_vx_u32m4(bits, 16, vl), 1, vl);
    const vuint32m4_t half = __riscv_vadd_vx_u32m4(odd, 0x7fff, vl);
    const vuint32m4_t carried = __riscv_vadd_vv_u32m4(bits, half, vl);
    const vuint16m2_t rounded = __riscv_vnsrl_wx_u16m2(carried, 16, vl);
    const vbool8_t is_nan = __riscv_vmfne_vv_f32m4_b8(sum, sum, vl);
    __riscv_vse16_v_u16m2(c, __riscv_vmerge_vxm_u16m2(rounded, 0x7fc0, is_nan, vl), vl);
}

// Rounds and stores one more sum, after the stores before it: left alone, the compiler rounds all
// sums at the same time and spills them for want of registers.
#define STORE_ROW(t, sum)                                                                          \
    do {                                                                                           \
        __asm__ volatile("" : "+vr"(sum) : : "memory");                                            \
        store_row(c + (t) * c_stride, sum, vl);                                                    \
    } while (0)

// `tokens` is a constant in each copy, so the conditions vanish and only the accumulators in use
// exist: 6 x m4, and m4 + m2 for the weights, 30 of 32 registers.
static inline __attribute__((always_inline)) void tile(const size_t tokens, size_t vl, size_t k,
                                                       const float *a, const bf16 *w, bf16 *c,
                                                       size_t c_stride) {
    vfloat32m4_t acc0 = __riscv_vfmv_v_f_f32m4(0, vl);
    vfloat32m4_t acc1 = acc0, acc2 = acc0, acc3 = acc0, acc4 = acc0, acc5 = acc0;
    for (const float *end = a + k * tokens; a != end; a += tokens, w += GEMM_CHANNELS) {
        const vfloat32m4_t row = load_row(w, vl);
        acc0 = __riscv_vfmacc_vf_f32m4(acc0, a[0], row, vl);
        if (tokens > 1) acc1 = __riscv_vfmacc_vf_f32m4(acc1, a[1], row, vl);
        if (tokens > 2) acc2 = __riscv_vfmacc_vf_f32m4(acc2, a[2], row, vl);
        if (tokens > 3) acc3 = __riscv_vfmacc_vf_f32m4(acc3, a[3], row, vl);
        if (tokens > 4) acc4 = __riscv_vfmacc_vf_f32m4(acc4, a[4], row, vl);
        if (tokens > 5) acc5 = __riscv_vfmacc_vf_f32m4(acc5, a[5], row, vl);
    }
    STORE_ROW(0, acc0);
    if (tokens > 1) STORE_ROW(1, acc1);
    if (tokens > 2) STORE_ROW(2, acc2);
    if (tokens > 3) STORE_ROW(3, acc3);
    if (tokens > 4) STORE_ROW(4, acc4);
    if (tokens > 5) STORE_ROW(5, acc5);
}

// All channels for a fixed number of tokens. Where VLEN >= 256, a block of 32 channels is one
// strip; at VLEN 128 its columns take two, with the same packed weights.
static inline __attribute__((always_inline)) void blocks(const size_t tokens, size_t channels,
                                                         size_t k, const float *a, const bf16 *w,
                                                         bf16 *c, size_t c_stride) {
    for (size_t first = 0; first < channels; first += GEMM_CHANNELS, w += k * GEMM_CHANNELS) {
        const size_t left = channels - first;
        const size_t columns = left < GEMM_CHANNELS ? left : GEMM_CHANNELS;
        for (size_t column = 0; column < columns;) {
            const size_t vl = __riscv_vsetvl_e32m4(columns - column);
            tile(tokens, vl, k, a, w + column, c + first + column, c_stride);
            column += vl;
        }
    }
}

// One function for each number of tokens, not inlined, so that each has its own symbol in profiles.
#define SPECIALISE(tokens)                                                                         \
    static __attribute__((noinline)) void gemm_bf16_x##tokens(size_t channels, size_t k,           \
                                                              const float *a, const bf16 *w,       \
                                                              bf16 *c, size_t c_stride) {          \
        blocks(tokens, channels, k, a, w, c, c_stride);                                            \
    }

SPECIALISE(1)
SPECIALISE(2)
SPECIALISE(3)
SPECIALISE(4)
SPECIALISE(5)
SPECIALISE(6)

void gemm_bf16(size_t tokens, size_t channels, size_t k, const float *a, const bf16 *w, bf16 *c,
               size_t c_stride) {
    typedef void tile_function(size_t, size_t, const float *, const bf16 *, bf16 *, size_t);
    static tile_function *const by_tokens[GEMM_MAX_TOKENS] = {
        gemm_bf16_x1, gemm_bf16_x2, gemm_bf16_x3, gemm_bf16_x4, gemm_bf16_x5, gemm_bf16_x6,
    };
    by_tokens[tokens - 1](channels, k, a, w, c, c_stride);
}

static float widen(bf16 x) {
    return (union {
        uint32_t bits;
        float number;
    }){(uint32_t)x << 16}.number;
}

void gemm_pack_activations(size_t tokens, size_t k, const bf16 *rows, float *packed) {
    for (size_t i = 0; i < k; i++) {
        for (size_t t = 0; t < tokens; t++) {
            *packed++ = widen(rows[t * k + i]);
        }
    }
}

void gemm_pack_weights(size_t channels, size_t k, const bf16 *rows, bf16 *packed) {
    for (size_t first = 0; first < channels; first += GEMM_CHANNELS) {
        for (size_t i = 0; i < k; i++) {
            for (size_t n = first; n < first + GEMM_CHANNELS; n++) {
                *packed++ = n < channels ? rows[n * k + i] : 0;
            }
        }
    }
}
