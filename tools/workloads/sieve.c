// The sieve of Eratosthenes.

#include "runtime.h"

enum { LIMIT = 32768 };

static bool composite[LIMIT];

static __attribute__((noinline)) uint64_t count_primes(void) {
    memset(composite, 0, sizeof composite);
    uint64_t count = 0;
    for (uint32_t i = 2; i < LIMIT; i++) {
        if (composite[i]) {
            continue;
        }
        count++;
        for (uint32_t multiple = 2 * i; multiple < LIMIT; multiple += i) {
            composite[multiple] = true;
        }
    }
    return count;
}

int main(int argc, char **argv) {
    const uint64_t rounds = argc > 1 ? rt_parse_u64(argv[1], 1) : 1;
    uint64_t count = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        count += count_primes();
    }
    return rt_finish(true, count);
}
