// Copies of 4096 bytes with the strip-mined copy of the kernel memops.

#include "memops.h"
#include "runtime.h"

enum { SIZE = 4096 };

_Alignas(64) static uint8_t from[SIZE], to[SIZE];

int main(int argc, char **argv) {
    const uint64_t rounds = argc > 1 ? rt_parse_u64(argv[1], 1) : 1;
    rt_fill(from, SIZE, 1);
    for (uint64_t i = 0; i < rounds; i++) {
        memops_m8.copy(to, from, SIZE);
    }
    return rt_finish(true, rt_hash(RT_HASH_INIT, to, SIZE));
}
