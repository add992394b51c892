// Checks softmax_f16 against its scalar mirror, to the bit, and against double precision;
// `softmax_f16.elf N` also times N runs. reference.py computes the same checksum and the same
// error: keep the inputs, the sizes and their order alike.

#include "runtime.h"
#include "softmax.h"

enum { MAX = 1024, GUARD = 4 };

// Around the strip lengths of LMUL 2 and 4 at VLEN 128 to 1024.
static const size_t sizes[] = {0, 1, 7, 16, 33, 100};
enum { SIZES = sizeof sizes / sizeof sizes[0], LARGEST = 100 };

static const uint16_t zero = 0x0000, infinity = 0x7c00, minus_infinity = 0xfc00, nan = 0x7e00,
                      signaling_nan = 0xfd01, highest = 0x7bff, lowest = 0xfbff;

static float inputs[MAX];
static _Float16 x[MAX], got[MAX + GUARD], want[MAX + GUARD];
static uint64_t checksum = RT_HASH_INIT;

// What lies beyond the outputs must stay as it was.
static bool check(size_t n) {
    memset(got, 0xa5, (n + GUARD) * sizeof got[0]);
    memset(want, 0xa5, (n + GUARD) * sizeof want[0]);
    softmax_f16(n, x, got);
    scalar_softmax_f16(n, x, want);
    checksum = rt_hash(checksum, got, n * sizeof got[0]);
    return rt_same_u16("y", got, want, n + GUARD);
}

static bool check_in_place(size_t n) {
    memcpy(want, x, n * sizeof x[0]);
    softmax_f16(n, want, want);
    softmax_f16(n, x, got);
    return rt_same_u16("y", want, got, n);
}

// Of the first `n` results in `got`.
static double largest_error(size_t n) {
    double max = -__builtin_inf(), sum = 0, error = 0;
    for (size_t i = 0; i < n; i++) {
        max = (double)x[i] > max ? (double)x[i] : max;
    }
    static double exact[LARGEST];
    for (size_t i = 0; i < n; i++) {
        exact[i] = rt_exp((double)x[i] - max);
        sum += exact[i];
    }
    for (size_t i = 0; i < n; i++) {
        const double ulps = rt_ulps(rt_f16, (double)got[i], exact[i] / sum);
        error = ulps > error ? ulps : error;
    }
    return error;
}

static void put(size_t i, uint16_t bits) {
    memcpy(&x[i], &bits, sizeof bits);
}

static void fill_inputs(size_t n) {
    for (size_t i = 0; i < n; i++) {
        x[i] = (_Float16)(inputs[i] * (i % 4 == 0 ? 16.0F : 4.0F));
    }
}

// A softmax whose numbers are all `bits`, except that the second is `second`.
static bool check_special(uint16_t bits, uint16_t second) {
    enum { N = 9 };
    for (size_t i = 0; i < N; i++) {
        put(i, i == 1 ? second : bits);
    }
    return check(N);
}

static bool check_specials(void) {
    bool ok = check_special(zero, zero);
    ok &= check_special(zero, minus_infinity);
    ok &= check_special(zero, highest);
    ok &= check_special(lowest, highest);
    ok &= check_special(highest, highest);
    ok &= check_special(minus_infinity, zero);
    ok &= check_special(minus_infinity, minus_infinity);
    ok &= check_special(zero, infinity);
    ok &= check_special(zero, nan);
    ok &= check_special(nan, zero);
    return ok & check_special(zero, signaling_nan);
}

static void bench(uint64_t runs) {
    fill_inputs(MAX);
    const uint64_t start = rt_time();
    for (uint64_t i = 0; i < runs; i++) {
        softmax_f16(MAX, x, got);
    }
    rt_report_bench("softmax", "of 1024", runs, rt_time() - start);
}

int main(int argc, char **argv) {
    rt_print("softmax_f16: vlen ");
    rt_print_u64(rt_vlen());
    rt_print("\n");

    const uint64_t runs = argc > 1 ? rt_parse_u64(argv[1], 0) : 0;
    rt_fill_f32(inputs, runs == 0 ? LARGEST : MAX, 1);
    fill_inputs(LARGEST);
    bool ok = true;
    for (size_t i = 0; i < SIZES; i++) {
        ok &= rt_report_u64(check(sizes[i]), "size", sizes[i]);
    }
    ok &= rt_report_ulps("size 100", largest_error(LARGEST), 2);
    ok &= rt_report(check_in_place(33), "in", "place");
    ok &= rt_report(check_specials(), "limits, infinities and", "NaN");

    if (runs != 0) {
        bench(runs);
    }
    return rt_finish(ok, checksum);
}
