// Checks the three functions against their scalar mirrors, to the bit, and against double
// precision; `exp_silu_f32.elf N` also times N runs of each. reference.py computes the same
// checksum and the same errors: keep the inputs, the sizes and their order alike.

#include "runtime.h"
#include "silu.h"

enum { MAX = 1024, GUARD = 4 };

// Around the strip lengths at VLEN 128 to 1024.
static const size_t sizes[] = {0, 1, 7, 16, 33, 90};
enum { SIZES = sizeof sizes / sizeof sizes[0], LARGEST = 90 };

// The ends of the ranges of results: zeros, subnormals, infinities.
static const uint32_t specials[] = {
    0x00000000, 0x80000000, // zeros
    0x7f800000, 0xff800000, // infinities
    0x7fc00000, 0xffc12345, // quiet NaNs
    0x7f800001, 0xff812345, // signaling NaNs
    0x00000001, 0x80000001, // the smallest subnormals
    0x00800000, 0x807fffff, // the smallest normal, the largest subnormal
    0x7f7fffff, 0xff7fffff, // the largest
    0x3f800000, 0xbf800000, // 1
    0x3eb17218, 0xbeb17218, // ln(2) / 2, where n changes
    0x42b17217, 0x42b17218, // e^x just below and above the largest float
    0xc2aeac4f, 0xc2aeac50, // e^x just above and below the smallest normal
    0xc2cff1b4, 0xc2cff1b5, // e^x just above and below half of the smallest subnormal
    0xc2ce8ecf, 0xc2d80000, // -103.2789, -108
    0x33000000, 0xb3000000, // 2^-25
};
enum { SPECIALS = sizeof specials / sizeof specials[0], NARROW = 40 };

static float x[MAX], got[MAX + GUARD], want[LARGEST];
static uint64_t checksum = RT_HASH_INIT;

static double exact_exp(double value) {
    return rt_exp(value);
}

static double exact_sigmoid(double value) {
    return 1 / (1 + rt_exp(-value));
}

// The quotient is -infinity / infinity at the lower end.
static double exact_silu(double value) {
    return value == -__builtin_inf() ? -0.0 : value / (1 + rt_exp(-value));
}

static const struct function {
    const char *name;
    void (*vector)(size_t n, const float *x, float *y);
    float (*scalar)(float x);
    double (*exact)(double x);
    double bound; // on the error, in units of the last place
} functions[] = {
    {"exp", exp_f32, scalar_exp, exact_exp, 1},
    {"sigmoid", sigmoid_f32, scalar_sigmoid, exact_sigmoid, 2.5},
    {"silu", silu_f32, scalar_silu, exact_silu, 3.5},
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

// Specials, then numbers in [-4, 4), then in [-105, 105).
static void fill_inputs(size_t n) {
    rt_fill_f32(x, n, 1);
    for (size_t i = 0; i < n; i++) {
        x[i] *= i < NARROW + SPECIALS ? 4.0F : 105.0F;
    }
    memcpy(x, specials, sizeof specials);
}

// What lies beyond the outputs must stay as it was.
static bool guard_holds(size_t n) {
    uint8_t expected[GUARD * sizeof got[0]];
    memset(expected, 0xa5, sizeof expected);
    return rt_same_bytes("guard", got + n, expected, sizeof expected);
}

static bool check_size(const struct function *function, size_t n) {
    memset(got, 0xa5, (n + GUARD) * sizeof got[0]);
    function->vector(n, x, got);
    checksum = rt_hash(checksum, got, n * sizeof got[0]);
    return rt_same_f32(function->name, got, want, n) && guard_holds(n);
}

static bool check(const struct function *function) {
    double largest = 0;
    for (size_t i = 0; i < LARGEST; i++) {
        want[i] = function->scalar(x[i]);
        const double error = rt_ulps(rt_f32, want[i], function->exact(x[i]));
        largest = error > largest ? error : largest;
    }
    bool ok = true;
    for (size_t i = 0; i < SIZES; i++) {
        ok &= check_size(function, sizes[i]);
    }
    ok = rt_report(ok, function->name, "equals its scalar mirror");
    return rt_report_ulps(function->name, largest, function->bound) && ok;
}

static void bench(const struct function *function, uint64_t runs) {
    const uint64_t start = rt_time();
    for (uint64_t i = 0; i < runs; i++) {
        function->vector(MAX, x, got);
    }
    rt_report_bench(function->name, "of 1024", runs, rt_time() - start);
}

int main(int argc, char **argv) {
    rt_print("exp_silu_f32: vlen ");
    rt_print_u64(rt_vlen());
    rt_print("\n");

    const uint64_t runs = argc > 1 ? rt_parse_u64(argv[1], 0) : 0;
    fill_inputs(runs == 0 ? LARGEST : MAX);
    bool ok = true;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        ok &= check(&functions[i]);
        if (runs != 0) {
            bench(&functions[i], runs);
        }
    }
    return rt_finish(ok, checksum);
}
