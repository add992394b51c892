// e^x, sigmoid and SiLU of float arrays.

#ifndef EXP_SILU_F32_H
#define EXP_SILU_F32_H

#include <stddef.h>

// What the vector code and its scalar mirror have in common.
//
// e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln(2) / 2. ln(2) is split so that n times its
// upper part is exact. e^r = 1 + r + r^2 (C2 + C3 r + ... + C6 r^4): the coefficients are those
// that keep the largest relative error smallest, 3e-9, which is 0.05 units of the last place.
#define EXP_LOG2_E 0x1.715476p+0F
#define EXP_LN2_HIGH 0x1.62e43p-1F
#define EXP_LN2_LOW (-0x1.05c61p-29F)
#define EXP_C2 0x1.fffffcp-2F
#define EXP_C3 0x1.555492p-3F
#define EXP_C4 0x1.5558f2p-5F
#define EXP_C5 0x1.1239e4p-7F
#define EXP_C6 0x1.6a2434p-10F

// Beyond these the results are 0 (also for x e^x) and infinity; 2^n still has two float factors.
#define EXP_LOWEST (-110.0F)
#define EXP_HIGHEST 89.0F

// All three: y[i] = f(x[i]); `y` may be `x`. NaN gives the canonical NaN.
void exp_f32(size_t n, const float *x, float *y);
void sigmoid_f32(size_t n, const float *x, float *y); // 1 / (1 + e^-x)
void silu_f32(size_t n, const float *x, float *y);    // x / (1 + e^-x); -0 for -infinity

// The same operations in the same order, one element at a time: equal to the bit.
float scalar_exp(float x);
float scalar_sigmoid(float x);
float scalar_silu(float x);

#endif
