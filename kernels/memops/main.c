// Checks every operation at every LMUL against scalar.c; `memops.elf N` also times N runs of each.
// reference.py computes the same checksum: keep the sizes, the seed and the order alike.

#include "memops.h"
#include "runtime.h"

enum { MAX = 4096, GUARD = 32, LIMIT = 100, NEEDLE = 0x5a };

// Around the strip lengths of small and large groups: the last is more than one strip of LMUL 8 at
// VLEN 256.
static const size_t sizes[] = {0, 1, 7, 16, 33, 100, 290};
enum { SIZES = sizeof sizes / sizeof sizes[0], LARGEST = 290 };

static const uint8_t table[MEMOPS_TABLE] = {0x81, 0x98, 0xad, 0xbf, 0xcf, 0xdd, 0xea, 0xf6,
                                            0x01, 0x0d, 0x19, 0x26, 0x35, 0x45, 0x59, 0x71};

static const struct memops *const variants[] = {&memops_m1, &memops_m2, &memops_m4, &memops_m8};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

// One byte off alignment, as real strings are. `src` holds no NEEDLE but those that check_find puts
// there.
_Alignas(64) static uint8_t input[1 + MAX];
static uint8_t *const src = input + 1;
_Alignas(64) static uint8_t got[MAX + GUARD], want[MAX + GUARD];
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

static bool same_number(const char *what, size_t is, size_t expected) {
    checksum = rt_hash(checksum, &is, sizeof is);
    return rt_same_bytes(what, &is, &expected, sizeof is);
}

static bool check_copy(const struct memops *ops, size_t n) {
    clear(n);
    ops->copy(got, src, n);
    scalar_copy(want, src, n);
    return same_output("copy", n);
}

static bool check_set(const struct memops *ops, size_t n) {
    clear(n);
    ops->set(got, (uint8_t)n, n);
    scalar_set(want, (uint8_t)n, n);
    return same_output("set", n);
}

static size_t distance(const uint8_t *found) {
    return found == NULL ? SIZE_MAX : (size_t)(found - src);
}

// The byte that is searched for is nowhere, then right behind the bound, where a search without a
// bound finds it, then in the middle.
static bool check_find(const struct memops *ops, size_t n) {
    const uint8_t middle = src[n / 2], last = src[n];
    bool ok = same_number("absent", distance(ops->find(src, NEEDLE, n)), SIZE_MAX);
    src[n] = NEEDLE;
    ok &= same_number("beyond", distance(ops->find(src, NEEDLE, n)), SIZE_MAX);
    ok &= same_number("unbounded", distance(ops->find(src, NEEDLE, SIZE_MAX)), n);
    src[n / 2] = NEEDLE;
    ok &= same_number("middle", distance(ops->find(src, NEEDLE, n + 1)),
                      distance(scalar_find(src, NEEDLE, n + 1)));
    src[n / 2] = middle;
    src[n] = last;
    return ok;
}

static bool check_transpose(const struct memops *ops, size_t n) {
    const size_t rows = n / ops->fields;
    clear(n);
    ops->transpose(got, src, rows);
    scalar_transpose(want, src, rows, ops->fields);
    return same_output("transpose", rows * ops->fields);
}

static bool check_lookup(const struct memops *ops, size_t n) {
    clear(n);
    ops->lookup(got, src, n, table);
    scalar_lookup(want, src, n, table);
    return same_output("lookup", n);
}

static bool check_compact(const struct memops *ops, size_t n) {
    clear(n);
    const size_t kept = ops->compact(got, src, n, LIMIT);
    const size_t expected = scalar_compact(want, src, n, LIMIT);
    const bool ok = same_number("kept", kept, expected);
    return same_output("compact", expected) && ok;
}

static void run_copy(const struct memops *ops) {
    ops->copy(got, src, MAX);
}

static void run_set(const struct memops *ops) {
    ops->set(got, 1, MAX);
}

static void run_find(const struct memops *ops) {
    ops->find(src, NEEDLE, MAX);
}

static void run_transpose(const struct memops *ops) {
    ops->transpose(got, src, MAX / ops->fields);
}

static void run_lookup(const struct memops *ops) {
    ops->lookup(got, src, MAX, table);
}

static void run_compact(const struct memops *ops) {
    ops->compact(got, src, MAX, LIMIT);
}

static const struct operation {
    const char *name;
    bool (*check)(const struct memops *ops, size_t n);
    void (*run)(const struct memops *ops);
} operations[] = {
    {"copy", check_copy, run_copy},
    {"set", check_set, run_set},
    {"find", check_find, run_find},
    {"transpose", check_transpose, run_transpose},
    {"lookup", check_lookup, run_lookup},
    {"compact", check_compact, run_compact},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static bool check(const struct operation *operation, const struct memops *ops) {
    bool ok = true;
    for (size_t i = 0; i < SIZES; i++) {
        ok &= operation->check(ops, sizes[i]);
    }
    return rt_report(ok, operation->name, ops->lmul);
}

static void bench(const struct operation *operation, const struct memops *ops, uint64_t runs) {
    const uint64_t start = rt_time();
    for (uint64_t i = 0; i < runs; i++) {
        operation->run(ops);
    }
    rt_report_bench(operation->name, ops->lmul, runs, rt_time() - start);
}

int main(int argc, char **argv) {
    rt_print("memops: vlen ");
    rt_print_u64(rt_vlen());
    rt_print("\n");

    const uint64_t runs = argc > 1 ? rt_parse_u64(argv[1], 0) : 0;
    const size_t filled = runs == 0 ? LARGEST + 1 : MAX;
    rt_fill(src, filled, 1);
    for (size_t i = 0; i < filled; i++) {
        src[i] += src[i] == NEEDLE;
    }

    bool ok = true;
    for (size_t i = 0; i < OPERATIONS; i++) {
        for (size_t j = 0; j < VARIANTS; j++) {
            const struct operation *const operation = &operations[i];
            if (operation->check == check_transpose && variants[j]->transpose == NULL) {
                continue;
            }
            ok &= check(operation, variants[j]);
            if (runs != 0) {
                bench(operation, variants[j], runs);
            }
        }
    }
    return rt_finish(ok, checksum);
}
