// In a file of its own, so that nothing of it is inlined into or specialised for the checks.

#include "requant.h"

// Rounds by comparing fractions rather than by the conversion that the vector code uses.
static int8_t quantise(float scaled, int8_t zero_point) {
    if (!(scaled < 1000)) { // also NaN
        return INT8_MAX;
    }
    if (scaled < -1000) {
        return INT8_MIN;
    }
    int32_t whole = (int32_t)scaled; // towards zero
    const float fraction = scaled - (float)whole;
    if (fraction > 0.5F || (fraction == 0.5F && whole % 2 != 0)) {
        whole++;
    }
    if (fraction < -0.5F || (fraction == -0.5F && whole % 2 != 0)) {
        whole--;
    }
    whole += zero_point;
    return (int8_t)(whole > INT8_MAX ? INT8_MAX : whole < INT8_MIN ? INT8_MIN : whole);
}

void scalar_requant_f32_s8(size_t n, const float *x, struct requant to, int8_t *y) {
    for (size_t i = 0; i < n; i++) {
        y[i] = quantise(x[i] * to.scale, to.zero_point);
    }
}

void scalar_requant_i32_s8(size_t n, const int32_t *x, const float *scale, int8_t zero_point,
                           int8_t *y) {
    for (size_t i = 0; i < n; i++) {
        y[i] = quantise((float)x[i] * scale[i], zero_point);
    }
}
