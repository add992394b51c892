// Checks gemm_tile_s8 against gemm_scalar; `gemm_tile_s8.elf RUNS [TOKENS [CHANNELS]]` also times
// runs of one product: of 8 tokens behind all checks, or, where TOKENS is given, of that many tokens
// behind the checks of small shapes for them. TOKENS 0 stands for each number of them.
// reference.py computes the same checksum: keep the shapes, seeds and their order alike.

#include "gemm.h"
#include "runtime.h"

#ifndef KERNEL
#define KERNEL "gemm_tile_s8"
#endif

enum { MAX_CHANNELS = 40, MAX_K = 256, GUARD = 4, C_STRIDE = MAX_CHANNELS + GUARD };
enum { MAX_BENCH_CHANNELS = 32 };

static const struct {
    size_t channels, k;
} shapes[] = {{16, 1}, {16, 11}, {19, 5}};

static int8_t a_rows[GEMM_MAX_TOKENS * MAX_K], w_rows[MAX_CHANNELS * MAX_K];
_Alignas(64) static int8_t a_packed[GEMM_MAX_TOKENS * MAX_K], w_packed[MAX_CHANNELS * MAX_K];
static int32_t got[(GEMM_MAX_TOKENS + 1) * C_STRIDE], want[(GEMM_MAX_TOKENS + 1) * C_STRIDE];
static uint64_t checksum = RT_HASH_INIT;

// The product of a_rows and w_rows in `got`, between elements that keep what they were.
static void multiply(size_t tokens, size_t channels, size_t k) {
    gemm_pack_activations(tokens, k, a_rows, a_packed);
    gemm_pack_weights(channels, k, w_rows, w_packed);
    memset(got, 0xa5, sizeof got);
    memset(want, 0xa5, sizeof want);
    gemm_tile_s8(tokens, channels, k, a_packed, w_packed, got, C_STRIDE);
    for (size_t t = 0; t < tokens; t++) {
        checksum = rt_hash(checksum, got + t * C_STRIDE, channels * sizeof got[0]);
    }
}

// Compares whole rows and one more: what lies beyond the outputs must stay as it was.
static bool check_inputs(size_t tokens, size_t channels, size_t k) {
    multiply(tokens, channels, k);
    gemm_scalar(tokens, channels, k, a_rows, w_rows, want, C_STRIDE);
    return rt_same_i32("c", got, want, (tokens + 1) * C_STRIDE);
}

static void fill(size_t tokens, size_t channels, size_t k) {
    rt_fill(a_rows, tokens * k, 2 * k);
    rt_fill(w_rows, channels * k, 2 * k + 1);
}

static bool check_random(size_t tokens, size_t channels, size_t k) {
    fill(tokens, channels, k);
    return check_inputs(tokens, channels, k);
}

// Of these, the scalar loop makes the last token only, and the checksum has the others.
static bool check_long(size_t tokens, size_t channels, size_t k) {
    const size_t last = tokens - 1;
    int32_t *const row = want + last * C_STRIDE;
    fill(tokens, channels, k);
    multiply(tokens, channels, k);
    gemm_scalar(1, channels, k, a_rows + last * k, w_rows, row, C_STRIDE);
    return rt_same_i32("c", got + last * C_STRIDE, row, 2 * C_STRIDE);
}

// -128 * -128 is the only product that needs bit 14, and a sum of them the first to leave int16.
static bool check_extremes(size_t tokens, size_t channels, size_t k) {
    memset(a_rows, INT8_MIN, tokens * k);
    memset(w_rows, INT8_MIN, channels * k);
    return check_inputs(tokens, channels, k);
}

static void bench(uint64_t runs, size_t tokens, size_t channels) {
    rt_fill(a_packed, sizeof a_packed, 1);
    rt_fill(w_packed, sizeof w_packed, 2);
    const uint64_t start = rt_time();
    for (uint64_t i = 0; i < runs; i++) {
        gemm_tile_s8(tokens, channels, MAX_K, a_packed, w_packed, got, C_STRIDE);
    }
    const uint64_t ticks = rt_time() - start;
    rt_print("bench ");
    rt_print_u64(tokens);
    rt_print(" tokens, ");
    rt_print_u64(channels);
    rt_print(" channels, k 256: ");
    rt_print_u64(runs);
    rt_print(" runs, ");
    rt_print_u64(ticks);
    rt_print(" ticks\n");
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise) {
    return i < argc ? rt_parse_u64(argv[i], otherwise) : otherwise;
}

static bool check_shapes(size_t first, size_t last) {
    bool ok = true;
    for (size_t tokens = first; tokens <= last; tokens++) {
        bool same = true;
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            same &= check_random(tokens, shapes[i].channels, shapes[i].k);
        }
        ok &= rt_report_u64(same, "tokens", tokens);
    }
    return ok;
}

int main(int argc, char **argv) {
    const uint64_t runs = argument(argc, argv, 1, 0);
    const uint64_t only = argument(argc, argv, 2, 0);
    const uint64_t channels = argument(argc, argv, 3, 16);
    if (only > GEMM_MAX_TOKENS || channels > MAX_BENCH_CHANNELS) {
        rt_print(KERNEL " times up to 8 tokens and 32 channels\n");
        return 1;
    }
    const size_t first = only != 0 ? only : 1, last = only != 0 ? only : GEMM_MAX_TOKENS;
    rt_print(KERNEL ": vlen ");
    rt_print_u64(rt_vlen());
    rt_print("\n");

    bool ok = check_shapes(first, last);
    if (argc <= 2) {
        ok &= rt_report(check_random(3, MAX_CHANNELS, 17), "blocks of channels", "3");
        ok &= rt_report(check_long(GEMM_MAX_TOKENS, GEMM_CHANNELS, MAX_K), "long", "sums");
        ok &= rt_report(check_extremes(1, GEMM_CHANNELS, 48), "extremes of", "int8");
    }

    for (size_t tokens = argc > 2 ? first : last; runs != 0 && tokens <= last; tokens++) {
        bench(runs, tokens, channels);
    }
    return rt_finish(ok, checksum);
}
