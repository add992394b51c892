// In a file of its own, so that nothing of it is inlined into or specialised for the checks.

#include "runtime.h"
#include "silu.h"

#pragma STDC FP_CONTRACT OFF

static float power_of_2(int32_t n) {
    return (union {
        uint32_t bits;
        float number;
    }){(uint32_t)(n + 127) << 23}.number;
}

// To nearest, ties to even, for magnitudes below 2^22: adding 1.5 * 2^23 leaves no fraction.
static int32_t round_to_int(float x) {
    return (int32_t)((x + 0x1.8p23F) - 0x1.8p23F);
}

// See scaled_exp in silu.c.
static float scaled_exp(float x, float factor, float *exponential) {
    const int32_t n = round_to_int(x * EXP_LOG2_E);
    float r = rt_fma(-EXP_LN2_HIGH, (float)n, x);
    r = rt_fma(-EXP_LN2_LOW, (float)n, r);

    float sum = rt_fma(EXP_C6, r, EXP_C5);
    sum = rt_fma(sum, r, EXP_C4);
    sum = rt_fma(sum, r, EXP_C3);
    sum = rt_fma(sum, r, EXP_C2);
    sum = rt_fma(sum, r * r, r);
    sum = sum + 1.0F;

    const int32_t half = n >> 1;
    const float scale = power_of_2(half), rest = power_of_2(n - half);
    *exponential = sum * scale * rest;
    return sum * factor * scale * rest;
}

float scalar_exp(float x) {
    float inside = x < EXP_LOWEST ? EXP_LOWEST : x, y;
    inside = inside > EXP_HIGHEST ? EXP_HIGHEST : inside;
    if (x != x) {
        return __builtin_nanf("");
    }
    scaled_exp(inside, 1.0F, &y);
    return y;
}

static float minus_magnitude(float x) {
    const float minus = __builtin_copysignf(x, -1.0F);
    return minus < EXP_LOWEST ? EXP_LOWEST : minus;
}

float scalar_sigmoid(float x) {
    float z;
    if (x != x) {
        return __builtin_nanf("");
    }
    scaled_exp(minus_magnitude(x), 1.0F, &z);
    return (x >= 0 ? 1.0F : z) / (1.0F + z);
}

float scalar_silu(float x) {
    float z;
    if (x != x) {
        return __builtin_nanf("");
    }
    const float minus = minus_magnitude(x);
    const float product = scaled_exp(minus, minus, &z);
    return (x >= 0 ? x : product) / (1.0F + z);
}
