// The kernel gemm_tile_f32 at LMUL 4 only: its own program times all three.

#include "gemm.h"
#include "runtime.h"

enum { K = 256 };

static float a[GEMM_MAX_TOKENS * K], w[GEMM_CHANNELS * K];
_Alignas(64) static float c[GEMM_MAX_TOKENS * GEMM_CHANNELS];

int main(int argc, char **argv) {
    const uint64_t rounds = argc > 1 ? rt_parse_u64(argv[1], 1) : 1;
    rt_fill_f32(a, sizeof a / sizeof a[0], 1);
    rt_fill_f32(w, sizeof w / sizeof w[0], 2);
    for (uint64_t i = 0; i < rounds; i++) {
        gemm_tile_f32_m4(GEMM_MAX_TOKENS, GEMM_CHANNELS, K, a, w, c, GEMM_CHANNELS);
    }
    return rt_finish(true, rt_hash(RT_HASH_INIT, c, sizeof c));
}
