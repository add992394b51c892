// In a file of its own, so that nothing of it is inlined into or specialised for the checks.

#include "runtime.h"
#include "softmax.h"

#pragma STDC FP_CONTRACT OFF

// To nearest, ties to even, for magnitudes below 2^22: adding 1.5 * 2^23 leaves no fraction.
static int32_t round_to_int(float x) {
    return (int32_t)((x + 0x1.8p23F) - 0x1.8p23F);
}

// See `exponential` in softmax.c.
static float exponential(float x) {
    if (x != x) {
        return x;
    }
    x = x < EXP_LOWEST ? EXP_LOWEST : x;
    const int32_t n = round_to_int(x * EXP_LOG2_E);
    const float r = rt_fma(-EXP_LN2, (float)n, x);
    float sum = rt_fma(EXP_C4, r, EXP_C3);
    sum = rt_fma(sum, r, EXP_C2);
    sum = rt_fma(sum, r, 1.0F);
    sum = rt_fma(sum, r, 1.0F);
    const union {
        uint32_t bits;
        float number;
    } power = {(uint32_t)(n + 127) << 23};
    return sum * power.number;
}

void scalar_softmax_f16(size_t n, const _Float16 *x, _Float16 *y) {
    _Float16 max = -__builtin_inff16();
    for (size_t i = 0; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    float sum = 0;
    for (size_t i = 0; i < n; i++) {
        y[i] = (_Float16)exponential((float)x[i] - (float)max);
        sum += (float)y[i];
    }
    const float factor = 1.0F / sum;
    for (size_t i = 0; i < n; i++) {
        y[i] = (_Float16)((float)y[i] * factor);
    }
}
