// Three passes: the largest number; exponentials, which stay in `y`, and their sum; division. Half
// precision in memory at LMUL 2, float in between at LMUL 4.

#include "softmax.h"

#include <riscv_vector.h>

enum { F32_BIAS = 127, F32_FRACTION = 23 };

static inline vfloat32m4_t constant(float value, size_t vl) {
    return __riscv_vfmv_v_f_f32m4(value, vl);
}

// e^x for x <= 0 or NaN. A comparison with NaN is false, so NaN is kept.
static inline vfloat32m4_t exponential(vfloat32m4_t x, size_t vl) {
    const vbool8_t tiny = __riscv_vmflt_vf_f32m4_b8(x, EXP_LOWEST, vl);
    x = __riscv_vfmerge_vfm_f32m4(x, EXP_LOWEST, tiny, vl);

    const vint32m4_t n =
        __riscv_vfcvt_x_f_v_i32m4(__riscv_vfmul_vf_f32m4(x, EXP_LOG2_E, vl), vl);
    const vfloat32m4_t r =
        __riscv_vfnmsac_vf_f32m4(x, EXP_LN2, __riscv_vfcvt_f_x_v_f32m4(n, vl), vl);

    vfloat32m4_t sum = __riscv_vfmadd_vf_f32m4(r, EXP_C4, constant(EXP_C3, vl), vl);
    sum = __riscv_vfmadd_vv_f32m4(sum, r, constant(EXP_C2, vl), vl);
    sum = __riscv_vfmadd_vv_f32m4(sum, r, constant(1.0F, vl), vl);
    sum = __riscv_vfmadd_vv_f32m4(sum, r, constant(1.0F, vl), vl);

    // 2^n, by writing the exponent; whatever comes of NaN, times NaN it is NaN.
    const vint32m4_t biased = __riscv_vadd_vx_i32m4(n, F32_BIAS, vl);
    const vfloat32m4_t power =
        __riscv_vreinterpret_v_i32m4_f32m4(__riscv_vsll_vx_i32m4(biased, F32_FRACTION, vl));
    return __riscv_vfmul_vv_f32m4(sum, power, vl);
}

// NaNs are passed over.
static _Float16 largest(size_t n, const _Float16 *x) {
    vfloat16m1_t max = __riscv_vfmv_s_f_f16m1(-__builtin_inff16(), 1);
    for (size_t vl; n != 0; n -= vl, x += vl) {
        vl = __riscv_vsetvl_e16m4(n);
        max = __riscv_vfredmax_vs_f16m4_f16m1(__riscv_vle16_v_f16m4(x, vl), max, vl);
    }
    return __riscv_vfmv_f_s_f16m1_f16(max);
}

// The ordered sum, because that of another order would depend on VLEN; the X60 takes as long for
// either when they widen.
static float exponentials(size_t n, const _Float16 *x, _Float16 max, _Float16 *y) {
    vfloat32m1_t sum = __riscv_vfmv_s_f_f32m1(0, 1);
    for (size_t vl; n != 0; n -= vl, x += vl, y += vl) {
        vl = __riscv_vsetvl_e16m2(n);
        const vfloat16m2_t in = __riscv_vle16_v_f16m2(x, vl);
        const vfloat32m4_t difference = __riscv_vfwsub_vf_f32m4(in, max, vl);
        const vfloat16m2_t out = __riscv_vfncvt_f_f_w_f16m2(exponential(difference, vl), vl);
        sum = __riscv_vfwredosum_vs_f16m2_f32m1(out, sum, vl);
        __riscv_vse16_v_f16m2(y, out, vl);
    }
    return __riscv_vfmv_f_s_f32m1_f32(sum);
}

static void scale(size_t n, float factor, _Float16 *y) {
    for (size_t vl; n != 0; n -= vl, y += vl) {
        vl = __riscv_vsetvl_e16m2(n);
        const vfloat32m4_t wide = __riscv_vfwcvt_f_f_v_f32m4(__riscv_vle16_v_f16m2(y, vl), vl);
        const vfloat32m4_t scaled = __riscv_vfmul_vf_f32m4(wide, factor, vl);
        __riscv_vse16_v_f16m2(y, __riscv_vfncvt_f_f_w_f16m2(scaled, vl), vl);
    }
}

void softmax_f16(size_t n, const _Float16 *x, _Float16 *y) {
    const _Float16 max = largest(n, x);
    scale(n, 1.0F / exponentials(n, x, max, y), y);
}
