// The three loops of a matrix product, on integers.

#include "runtime.h"

enum { N = 32 };

static int32_t a[N][N], b[N][N], c[N][N];

static __attribute__((noinline)) void multiply(void) {
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++) {
            int32_t sum = 0;
            for (size_t k = 0; k < N; k++) {
                sum += a[i][k] * b[k][j];
            }
            c[i][j] = sum;
        }
    }
}

int main(int argc, char **argv) {
    const uint64_t rounds = argc > 1 ? rt_parse_u64(argv[1], 1) : 1;
    rt_fill(a, sizeof a, 1);
    rt_fill(b, sizeof b, 2);
    for (uint64_t i = 0; i < rounds; i++) {
        multiply();
    }
    return rt_finish(true, rt_hash(RT_HASH_INIT, c, sizeof c));
}
