// Checks gemm_tile_f32 against gemm_scalar; `gemm_tile_f32.elf N` also times N runs of one tile.
// reference.py computes the same checksum: keep the shapes, seeds and their order alike.

#include "gemm.h"
#include "runtime.h"

#ifndef KERNEL
#define KERNEL "gemm_tile_f32"
#endif

// Both packed matrices of the bench are in L1.
enum { MAX_CHANNELS = 35, MAX_K = 192, LONG_K = 64, GUARD = 1, C_STRIDE = MAX_CHANNELS + GUARD };
enum { PADDED_CHANNELS = 64 };

static float a_rows[GEMM_MAX_TOKENS * MAX_K], w_rows[MAX_CHANNELS * MAX_K];
static float a_packed[GEMM_MAX_TOKENS * MAX_K], w_packed[PADDED_CHANNELS * MAX_K];
_Alignas(64) static float got[(GEMM_MAX_TOKENS + 1) * C_STRIDE];
_Alignas(64) static float want[(GEMM_MAX_TOKENS + 1) * C_STRIDE];
static uint64_t checksum = RT_HASH_INIT;

// The product of a_rows and w_rows in `got`, between elements that keep what they were.
static void multiply(size_t tokens, size_t channels, size_t k) {
    gemm_pack_activations(tokens, k, a_rows, a_packed);
    gemm_pack_weights(channels, k, w_rows, w_packed);
    memset(got, 0xa5, sizeof got);
    memset(want, 0xa5, sizeof want);
    gemm_tile_f32(tokens, channels, k, a_packed, w_packed, got, C_STRIDE);
    for (size_t t = 0; t < tokens; t++) {
        checksum = rt_hash(checksum, got + t * C_STRIDE, channels * sizeof got[0]);
    }
}

// Inputs in [-scale, scale).
static void fill(size_t tokens, size_t channels, size_t k, float scale) {
    rt_fill_f32(a_rows, tokens * k, 2 * k);
    rt_fill_f32(w_rows, channels * k, 2 * k + 1);
    for (size_t i = 0; i < tokens * k; i++) {
        a_rows[i] *= scale;
    }
    for (size_t i = 0; i < channels * k; i++) {
        w_rows[i] *= scale;
    }
}

// Compares whole rows and one more: what lies beyond the outputs must stay as it was.
static bool check_random(size_t tokens, size_t channels, size_t k, float scale) {
    fill(tokens, channels, k, scale);
    multiply(tokens, channels, k);
    gemm_scalar(tokens, channels, k, a_rows, w_rows, want, C_STRIDE);
    return rt_same_f32("c", got, want, (tokens + 1) * C_STRIDE);
}

// Of these, the scalar loop makes the last token only, and the checksum has the others.
static bool check_long(size_t tokens, size_t channels, size_t k) {
    const size_t last = tokens - 1;
    float *const row = want + last * C_STRIDE;
    fill(tokens, channels, k, 1);
    multiply(tokens, channels, k);
    gemm_scalar(1, channels, k, a_rows + last * k, w_rows, row, C_STRIDE);
    return rt_same_f32("c", got + last * C_STRIDE, row, 2 * C_STRIDE);
}

static void bench(uint64_t runs) {
    rt_fill_f32(a_packed, sizeof a_packed / sizeof a_packed[0], 1);
    rt_fill_f32(w_packed, GEMM_CHANNELS * MAX_K, 2);
    const uint64_t start = rt_time();
    for (uint64_t i = 0; i < runs; i++) {
        gemm_tile_f32(GEMM_MAX_TOKENS, GEMM_CHANNELS, MAX_K, a_packed, w_packed, got, C_STRIDE);
    }
    rt_report_bench("7 tokens, 32 channels,", "k 192", runs, rt_time() - start);
}

int main(int argc, char **argv) {
    rt_print(KERNEL ": vlen ");
    rt_print_u64(rt_vlen());
    rt_print("\n");

    bool ok = true;
    for (size_t tokens = 1; tokens <= GEMM_MAX_TOKENS; tokens++) {
        const size_t channels = tokens % 2 == 0 ? 32 : 35;
        ok &= rt_report_u64(check_random(tokens, channels, 2, 1), "tokens", tokens);
    }
    ok &= rt_report(check_long(GEMM_MAX_TOKENS, GEMM_CHANNELS, LONG_K), "long", "sums");
    ok &= rt_report(check_random(1, 32, 0, 1), "empty", "sums");
    ok &= rt_report(check_random(2, 32, 4, 0x1p-71F), "subnormal", "sums");
    ok &= rt_report(check_random(2, 32, 4, 0x1.8p64F), "overflowing", "sums");

    const uint64_t runs = argc > 1 ? rt_parse_u64(argv[1], 0) : 0;
    if (runs != 0) {
        bench(runs);
    }
    return rt_finish(ok, checksum);
}
