// LMUL 2, because SiLU has up to eight values alive: at LMUL 4 they would need all registers, and
// there is the mask in v0.

#include "silu.h"

#include <riscv_vector.h>

enum { F32_BIAS = 127, F32_FRACTION = 23 };

// 2^n for -126 <= n <= 127, by writing the exponent.
static inline vfloat32m2_t power_of_2(vint32m2_t n, size_t vl) {
    const vint32m2_t biased = __riscv_vadd_vx_i32m2(n, F32_BIAS, vl);
    return __riscv_vreinterpret_v_i32m2_f32m2(__riscv_vsll_vx_i32m2(biased, F32_FRACTION, vl));
}

static inline vfloat32m2_t constant(float value, size_t vl) {
    return __riscv_vfmv_v_f_f32m2(value, vl);
}

// factor e^x for EXP_LOWEST <= x <= EXP_HIGHEST; `exponential` gets e^x itself, unless it is NULL.
// 2^n is multiplied in two halves: its exponent may lie outside of a float's, and a result among
// the subnormals is then rounded only once.
static inline __attribute__((always_inline)) vfloat32m2_t
scaled_exp(vfloat32m2_t x, vfloat32m2_t factor, vfloat32m2_t *exponential, size_t vl) {
    const vint32m2_t n =
        __riscv_vfcvt_x_f_v_i32m2(__riscv_vfmul_vf_f32m2(x, EXP_LOG2_E, vl), vl);
    const vfloat32m2_t multiple = __riscv_vfcvt_f_x_v_f32m2(n, vl);
    vfloat32m2_t r = __riscv_vfnmsac_vf_f32m2(x, EXP_LN2_HIGH, multiple, vl);
    r = __riscv_vfnmsac_vf_f32m2(r, EXP_LN2_LOW, multiple, vl);

    vfloat32m2_t sum = __riscv_vfmadd_vf_f32m2(r, EXP_C6, constant(EXP_C5, vl), vl);
    sum = __riscv_vfmadd_vv_f32m2(sum, r, constant(EXP_C4, vl), vl);
    sum = __riscv_vfmadd_vv_f32m2(sum, r, constant(EXP_C3, vl), vl);
    sum = __riscv_vfmadd_vv_f32m2(sum, r, constant(EXP_C2, vl), vl);
    sum = __riscv_vfmadd_vv_f32m2(sum, __riscv_vfmul_vv_f32m2(r, r, vl), r, vl);
    sum = __riscv_vfadd_vf_f32m2(sum, 1.0F, vl);

    const vint32m2_t half = __riscv_vsra_vx_i32m2(n, 1, vl);
    const vfloat32m2_t scale = power_of_2(half, vl);
    const vfloat32m2_t rest = power_of_2(__riscv_vsub_vv_i32m2(n, half, vl), vl);
    if (exponential != NULL) {
        *exponential = __riscv_vfmul_vv_f32m2(__riscv_vfmul_vv_f32m2(sum, scale, vl), rest, vl);
        sum = __riscv_vfmul_vv_f32m2(sum, factor, vl);
    }
    return __riscv_vfmul_vv_f32m2(__riscv_vfmul_vv_f32m2(sum, scale, vl), rest, vl);
}

// vfmin and vfmax have dropped NaNs: here they come back.
static inline vfloat32m2_t keep_nan(vfloat32m2_t result, vfloat32m2_t x, size_t vl) {
    const vbool16_t is_nan = __riscv_vmfne_vv_f32m2_b16(x, x, vl);
    return __riscv_vfmerge_vfm_f32m2(result, __builtin_nanf(""), is_nan, vl);
}

void exp_f32(size_t n, const float *x, float *y) {
    for (size_t vl; n != 0; n -= vl, x += vl, y += vl) {
        vl = __riscv_vsetvl_e32m2(n);
        const vfloat32m2_t in = __riscv_vle32_v_f32m2(x, vl);
        vfloat32m2_t inside = __riscv_vfmax_vf_f32m2(in, EXP_LOWEST, vl);
        inside = __riscv_vfmin_vf_f32m2(inside, EXP_HIGHEST, vl);
        const vfloat32m2_t out = scaled_exp(inside, inside, NULL, vl);
        __riscv_vse32_v_f32m2(y, keep_nan(out, in, vl), vl);
    }
}

// With z = e^-|x|, which can't overflow: 1 / (1 + z) for x >= 0 and z / (1 + z) below. SiLU has x
// in the place of 1, and x z is computed as one: z alone may be subnormal and have few digits.
static inline __attribute__((always_inline)) void sigmoid(const int times_x, size_t n,
                                                          const float *x, float *y) {
    for (size_t vl; n != 0; n -= vl, x += vl, y += vl) {
        vl = __riscv_vsetvl_e32m2(n);
        const vfloat32m2_t in = __riscv_vle32_v_f32m2(x, vl);
        const vbool16_t positive = __riscv_vmfge_vf_f32m2_b16(in, 0.0F, vl);
        vfloat32m2_t minus = __riscv_vfsgnj_vf_f32m2(in, -1.0F, vl); // -|x|
        minus = __riscv_vfmax_vf_f32m2(minus, EXP_LOWEST, vl);
        vfloat32m2_t z, numerator;
        if (times_x) {
            // Below zero, -|x| is x.
            numerator = scaled_exp(minus, minus, &z, vl);
            numerator = __riscv_vmerge_vvm_f32m2(numerator, in, positive, vl);
        } else {
            z = scaled_exp(minus, minus, NULL, vl);
            numerator = __riscv_vfmerge_vfm_f32m2(z, 1.0F, positive, vl);
        }
        const vfloat32m2_t denominator = __riscv_vfadd_vf_f32m2(z, 1.0F, vl);
        const vfloat32m2_t out = __riscv_vfdiv_vv_f32m2(numerator, denominator, vl);
        __riscv_vse32_v_f32m2(y, keep_nan(out, in, vl), vl);
    }
}

void sigmoid_f32(size_t n, const float *x, float *y) {
    sigmoid(0, n, x, y);
}

void silu_f32(size_t n, const float *x, float *y) {
    sigmoid(1, n, x, y);
}
