// Checks both forms against scalar.c; `requant_s8.elf N` also times N runs of each. reference.py
// computes the same checksum: keep the inputs, the sizes and their order alike.

#include "requant.h"
#include "runtime.h"

enum { MAX = 1024, GUARD = 32 };

// Around the strip lengths of LMUL 4 at VLEN 128 to 1024.
static const size_t sizes[] = {0, 1, 7, 16, 33, 150};
enum { SIZES = sizeof sizes / sizeof sizes[0], LARGEST = 150 };

// With a scale of 1: ties, the ends of int8, int16 and int32, and what no integer can be.
static const float specials[] = {
    0.5F,     1.5F,      2.5F,         -0.5F,         -1.5F,     -2.5F,     0.49999997F,
    126.5F,   127.49F,   127.5F,       -128.5F,       -128.51F,  -129.5F,   -0.0F,
    32767.5F, -32768.5F, 2147483648.0, -2147483648.0, 1e30F,     -1e30F,    1e-45F,
    -1e-45F,  0x1p-126F, 8388607.5F,   0.50000006F,   1e-7F,     -3.9999F,
};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

// Also sums that no float holds.
static const int32_t special_sums[] = {0,         1,        -1,        INT32_MAX,
                                       INT32_MIN, 16777217, -16777219, 33554433};
enum { SPECIAL_SUMS = sizeof special_sums / sizeof special_sums[0] };

static const int8_t zero_points[] = {0, 3, -128, 127};
enum { ZERO_POINTS = sizeof zero_points / sizeof zero_points[0] };

static float x[MAX], scales[MAX];
static int32_t sums[MAX];
_Alignas(64) static int8_t got[MAX + GUARD], want[MAX + GUARD];
static uint64_t checksum = RT_HASH_INIT;

static void clear(size_t n) {
    memset(got, 0xa5, n + GUARD);
    memset(want, 0xa5, n + GUARD);
}

// What lies beyond the `n` bytes of output must stay as it was.
static bool same_output(const char *what, size_t n) {
    checksum = rt_hash(checksum, got, n);
    return rt_same_bytes(what, got, want, n + GUARD);
}

static bool check_f32(size_t n, struct requant to) {
    clear(n);
    requant_f32_s8(n, x, to, got);
    scalar_requant_f32_s8(n, x, to, want);
    return same_output("f32", n);
}

static bool check_i32(size_t n, int8_t zero_point) {
    clear(n);
    requant_i32_s8(n, sums, scales, zero_point, got);
    scalar_requant_i32_s8(n, sums, scales, zero_point, want);
    return same_output("i32", n);
}

// Numbers that fill int8 and a little more; sums like those of 8-bit products.
static void fill_inputs(size_t n) {
    rt_fill_f32(x, n, 1);
    rt_fill_f32(scales, n, 2);
    rt_fill(sums, n * sizeof sums[0], 3);
    for (size_t i = 0; i < n; i++) {
        x[i] *= 150.0F;
        scales[i] = (scales[i] + 1.0F) * 0.002F;
        sums[i] >>= 15;
    }
    memcpy(sums, special_sums, sizeof special_sums);
}

static bool check_specials(void) {
    memcpy(x, specials, sizeof specials);
    x[SPECIALS] = __builtin_inff();
    x[SPECIALS + 1] = -__builtin_inff();
    x[SPECIALS + 2] = __builtin_nanf("");
    return check_f32(SPECIALS + 3, (struct requant){1.0F, 0});
}

static void bench(uint64_t runs) {
    uint64_t start = rt_time();
    for (uint64_t i = 0; i < runs; i++) {
        requant_f32_s8(MAX, x, (struct requant){1.0F, 0}, got);
    }
    rt_report_bench("f32,", "1024 elements", runs, rt_time() - start);
    start = rt_time();
    for (uint64_t i = 0; i < runs; i++) {
        requant_i32_s8(MAX, sums, scales, 0, got);
    }
    rt_report_bench("i32,", "1024 elements", runs, rt_time() - start);
}

int main(int argc, char **argv) {
    rt_print("requant_s8: vlen ");
    rt_print_u64(rt_vlen());
    rt_print("\n");

    const uint64_t runs = argc > 1 ? rt_parse_u64(argv[1], 0) : 0;
    fill_inputs(runs == 0 ? LARGEST : MAX);
    bool ok_f32 = true, ok_i32 = true, ok_zero_point = true;
    for (size_t i = 0; i < SIZES; i++) {
        ok_f32 &= check_f32(sizes[i], (struct requant){0.9F, 0});
        ok_i32 &= check_i32(sizes[i], 0);
    }
    for (size_t i = 0; i < ZERO_POINTS; i++) {
        ok_zero_point &= check_f32(40, (struct requant){1.5F, zero_points[i]});
        ok_zero_point &= check_i32(40, zero_points[i]);
    }
    bool ok = rt_report(ok_f32, "f32 to", "int8");
    ok &= rt_report(ok_i32, "int32 to", "int8");
    ok &= rt_report(ok_zero_point, "zero", "points");
    ok &= rt_report(check_specials(), "ties, limits and", "NaN");

    if (runs != 0) {
        bench(runs);
    }
    return rt_finish(ok, checksum);
}
