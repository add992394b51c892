// Floating point for checks: inputs, an accurate exponential, and errors in units of the last
// place. Double precision, one element at a time, and nothing in common with the vector kernels.

#include "runtime.h"

#pragma STDC FP_CONTRACT OFF

enum { F64_BIAS = 1023, F64_FRACTION = 52 };

union f64 {
    double number;
    uint64_t bits;
};

// 2^exponent, from the smallest normal number on.
static double power_of_2(int exponent) {
    return (union f64){.bits = (uint64_t)(exponent + F64_BIAS) << F64_FRACTION}.number;
}

void rt_fill_f32(float *dst, size_t n, uint64_t seed) {
    rt_fill(dst, n * sizeof *dst, seed);
    for (size_t i = 0; i < n; i++) {
        const union {
            float number;
            int32_t word;
        } filled = {dst[i]};
        dst[i] = (float)(filled.word >> 8) * 0x1p-23F;
    }
}

// e^x = 2^n e^r with |r| <= ln(2) / 2, where 13 terms of the series leave 4e-18.
double rt_exp(double x) {
    static const double inverse_factorials[] = {
        1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
        1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24,
        1.0 / 6,          1.0 / 2,         1.0,            1.0};
    if (x > 710) { // also +inf
        return __builtin_inf();
    }
    if (x < -746) {
        return 0;
    }
    if (x != x) {
        return x;
    }
    const double multiple = x * 0x1.71547652b82fep+0;
    const int n = (int)(multiple < 0 ? multiple - 0.5 : multiple + 0.5);
    // The upper part of ln(2) has 32 digits, so that its multiples are exact.
    const double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
    double sum = inverse_factorials[0];
    for (size_t i = 1; i < sizeof inverse_factorials / sizeof inverse_factorials[0]; i++) {
        sum = sum * r + inverse_factorials[i];
    }
    return sum * power_of_2(n / 2) * power_of_2(n - n / 2);
}

const struct rt_format rt_f16 = {11, -14}, rt_f32 = {24, -126};

// The unit of the last place that the format has for `want`.
static double unit(struct rt_format format, double want) {
    const uint64_t bits = (union f64){want}.bits;
    const int exponent = (int)(bits >> F64_FRACTION & 0x7ff) - F64_BIAS;
    const int last = exponent < format.min_exponent ? format.min_exponent : exponent;
    return power_of_2(last - (format.digits - 1));
}

static bool is_infinite(double x) {
    return x == __builtin_inf() || x == -__builtin_inf();
}

double rt_ulps(struct rt_format format, double got, double want) {
    if (got != got || want != want) {
        return got != got && want != want ? 0 : __builtin_inf();
    }
    // From half a unit above the largest number on, infinity is the right result.
    const int max_exponent = 1 - format.min_exponent;
    const double overflow = power_of_2(max_exponent) * (2 - power_of_2(-format.digits));
    if (is_infinite(got) || want >= overflow || want <= -overflow) {
        const bool same = is_infinite(got) && (got > 0 ? want >= overflow : want <= -overflow);
        return same ? 0 : __builtin_inf();
    }
    const double difference = got < want ? want - got : got - want;
    return difference / unit(format, want);
}

// At most 4 billion.
static void print_thousandths(double x) {
    const uint64_t floor = (uint64_t)(x * 1000);
    const uint64_t rounded_up = floor + ((double)floor < x * 1000);
    rt_print_u64(rounded_up / 1000);
    rt_print(".");
    rt_print_u64(rounded_up / 100 % 10);
    rt_print_u64(rounded_up / 10 % 10);
    rt_print_u64(rounded_up % 10);
}

bool rt_report_ulps(const char *what, double ulps, double bound) {
    const bool ok = ulps <= bound;
    rt_print(ok ? "PASS " : "FAIL ");
    rt_print(what);
    rt_print(": largest error ");
    if (is_infinite(ulps)) {
        rt_print("infinite");
    } else {
        print_thousandths(ulps);
    }
    rt_print(" ulp, bound ");
    print_thousandths(bound);
    rt_print("\n");
    return ok;
}
