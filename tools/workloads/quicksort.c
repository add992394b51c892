// Quicksort, recursive on both sides.

#include "runtime.h"

enum { N = 1024 };

static int32_t unsorted[N], array[N];

// Hoare's: afterwards nothing in [low, result] is greater than anything in (result, high].
static __attribute__((noinline)) int32_t *partition(int32_t *low, int32_t *high) {
    const int32_t pivot = low[(high - low) / 2];
    for (;; low++, high--) {
        while (*low < pivot) {
            low++;
        }
        while (*high > pivot) {
            high--;
        }
        if (low >= high) {
            return high;
        }
        const int32_t swapped = *low;
        *low = *high;
        *high = swapped;
    }
}

static __attribute__((noinline)) void quicksort(int32_t *low, int32_t *high) {
    if (low < high) {
        int32_t *const middle = partition(low, high);
        quicksort(low, middle);
        quicksort(middle + 1, high);
    }
}

int main(int argc, char **argv) {
    const uint64_t rounds = argc > 1 ? rt_parse_u64(argv[1], 1) : 1;
    rt_fill(unsorted, sizeof unsorted, 1);
    for (uint64_t i = 0; i < rounds; i++) {
        memcpy(array, unsorted, sizeof array);
        quicksort(array, array + N - 1);
    }
    return rt_finish(true, rt_hash(RT_HASH_INIT, array, sizeof array));
}
