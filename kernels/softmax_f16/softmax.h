// Softmax of half-precision numbers, for cores with Zvfh.

#ifndef SOFTMAX_F16_H
#define SOFTMAX_F16_H

#include <stddef.h>

// What the vector code and its scalar mirror have in common.
//
// e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln(2) / 2, in float. e^r = 1 + r + r^2 (C2 +
// C3 r + C4 r^2): the coefficients are those that keep the largest relative error smallest, 5e-6,
// which is 0.01 units of the last place of f16. |n| < 32, so that one constant for ln(2) is enough.
#define EXP_LOG2_E 0x1.715476p+0F
#define EXP_LN2 0x1.62e43p-1F
#define EXP_C2 0x1.0006b6p-1F
#define EXP_C3 0x1.571cc2p-3F
#define EXP_C4 0x1.52259p-5F

// Below it, e^x is 0 in f16.
#define EXP_LOWEST (-20.0F)

// y[i] = e^(x[i] - max) / sum over j of e^(x[j] - max); `y` may be `x`.
//
// Exponentials are rounded to f16 and summed in float in the order of i, so that the results don't
// depend on VLEN. A NaN, +infinity or nothing but -infinity makes all results NaN.
void softmax_f16(size_t n, const _Float16 *x, _Float16 *y);

// The same operations in the same order, one element at a time: equal to the bit.
void scalar_softmax_f16(size_t n, const _Float16 *x, _Float16 *y);

#endif
