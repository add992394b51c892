// Checks gemm_bf16 against gemm_scalar; `gemm_bf16.elf N` also times N runs of one tile.
// reference.py computes the same checksum: keep the shapes, seeds and their order alike.

#include "gemm.h"
#include "runtime.h"

enum { MAX_CHANNELS = 40, MAX_K = 256, GUARD = 4, C_STRIDE = MAX_CHANNELS + GUARD };

// The sum of `first` and `second`, both exact, and what becomes of it in bf16.
static const struct {
    bf16 first, second;
} specials[] = {
    {0x3f80, 0x3b80}, // 1 + 2^-8: a tie, down to even
    {0x3f81, 0x3b80}, // a tie, up to even
    {0x3f80, 0x3b81}, // above the tie
    {0x3f81, 0x3b7f}, // below it
    {0xbf81, 0xbb80}, // negative
    {0x3fff, 0x3b80}, // up to the next power of two
    {0x7f7f, 0x7b00}, // the largest and a tie above it: infinity
    {0x7f7f, 0x7aff}, // just below: the largest
    {0xff7f, 0xff7f}, // infinite as a float
    {0x7f80, 0x3f80}, // infinity
    {0x7f80, 0xff80}, // infinity - infinity: NaN
    {0x7fc1, 0x3f80}, // NaN
    {0xff81, 0x3f80}, // signaling NaN
    {0x0001, 0x0001}, // subnormals
    {0x0080, 0x8001},
    {0x8000, 0x8000}, // zeros: the sum starts with +0
    {0x3f80, 0xbf80},
};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

static bf16 a_rows[GEMM_MAX_TOKENS * MAX_K], w_rows[MAX_CHANNELS * MAX_K];
static float a_packed[GEMM_MAX_TOKENS * MAX_K];
static bf16 w_packed[2 * GEMM_CHANNELS * MAX_K];
_Alignas(64) static bf16 got[(GEMM_MAX_TOKENS + 1) * C_STRIDE];
_Alignas(64) static bf16 want[(GEMM_MAX_TOKENS + 1) * C_STRIDE];
static uint64_t checksum = RT_HASH_INIT;

// Compares whole rows and one more: what lies beyond the outputs must stay as it was.
static bool check_inputs(size_t tokens, size_t channels, size_t k) {
    gemm_pack_activations(tokens, k, a_rows, a_packed);
    gemm_pack_weights(channels, k, w_rows, w_packed);
    const size_t elements = (tokens + 1) * C_STRIDE;
    memset(got, 0xa5, elements * sizeof got[0]);
    memset(want, 0xa5, elements * sizeof want[0]);
    gemm_scalar(tokens, channels, k, a_rows, w_rows, want, C_STRIDE);
    gemm_bf16(tokens, channels, k, a_packed, w_packed, got, C_STRIDE);
    for (size_t t = 0; t < tokens; t++) {
        checksum = rt_hash(checksum, got + t * C_STRIDE, channels * sizeof got[0]);
    }
    return rt_same_u16("c", got, want, elements);
}

// Random bits, with the exponent's upper four bits replaced: magnitudes from 2^-7 to 2^9.
static void fill(bf16 *dst, size_t n, uint64_t seed) {
    rt_fill(dst, n * sizeof *dst, seed);
    for (size_t i = 0; i < n; i++) {
        dst[i] = (bf16)((dst[i] & 0x87ff) | 0x3c00);
    }
}

static bool check_random(size_t tokens, size_t channels, size_t k) {
    fill(a_rows, tokens * k, 2 * k);
    fill(w_rows, channels * k, 2 * k + 1);
    return check_inputs(tokens, channels, k);
}

// One channel for each pair, multiplied by 1.
static bool check_specials(void) {
    a_rows[0] = a_rows[1] = 0x3f80;
    for (size_t i = 0; i < SPECIALS; i++) {
        w_rows[2 * i] = specials[i].first;
        w_rows[2 * i + 1] = specials[i].second;
    }
    return check_inputs(1, SPECIALS, 2);
}

static void bench(uint64_t runs) {
    fill(w_packed, GEMM_CHANNELS * MAX_K, 1);
    rt_fill_f32(a_packed, sizeof a_packed / sizeof a_packed[0], 2);
    const uint64_t start = rt_time();
    for (uint64_t i = 0; i < runs; i++) {
        gemm_bf16(GEMM_MAX_TOKENS, GEMM_CHANNELS, MAX_K, a_packed, w_packed, got, C_STRIDE);
    }
    rt_report_bench("6 tokens, 32 channels,", "k 256", runs, rt_time() - start);
}

int main(int argc, char **argv) {
    rt_print("gemm_bf16: vlen ");
    rt_print_u64(rt_vlen());
    rt_print("\n");

    bool ok = true;
    for (size_t tokens = 1; tokens <= GEMM_MAX_TOKENS; tokens++) {
        const size_t channels = tokens % 2 == 0 ? 32 : 35;
        ok &= rt_report_u64(check_random(tokens, channels, 3), "tokens", tokens);
    }
    ok &= rt_report(check_random(1, 40, 17), "longer", "sums");
    ok &= rt_report(check_specials(), "ties, limits and", "NaN");

    const uint64_t runs = argc > 1 ? rt_parse_u64(argv[1], 0) : 0;
    if (runs != 0) {
        bench(runs);
    }
    return rt_finish(ok, checksum);
}
