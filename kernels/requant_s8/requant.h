// float and int32 to int8 with scale and zero point.

#ifndef REQUANT_S8_H
#define REQUANT_S8_H

#include <stddef.h>
#include <stdint.h>

// How a group is quantised: real = (q - zero_point) / scale.
struct requant {
    float scale;
    int8_t zero_point;
};

// y[i] = x[i] * scale, rounded to nearest even, + zero_point, saturated. NaN counts as +infinity.
void requant_f32_s8(size_t n, const float *x, struct requant to, int8_t *y);

// The same for the sums of an int8 matrix product, each column with a scale of its own.
// y[i] = x[i] * scale[i], rounded twice as float, then as above
void requant_i32_s8(size_t n, const int32_t *x, const float *scale, int8_t zero_point, int8_t *y);

// The same, one element at a time.
void scalar_requant_f32_s8(size_t n, const float *x, struct requant to, int8_t *y);
void scalar_requant_i32_s8(size_t n, const int32_t *x, const float *scale, int8_t zero_point,
                           int8_t *y);

#endif
