// See runtime.h. Compiled with -ffreestanding, so that the loops of memcpy and memset are not
// turned into calls of themselves.

#include "runtime.h"

enum { SYS_WRITE = 64, SYS_EXIT = 93, STDOUT = 1 };

static long syscall3(long number, long arg0, long arg1, long arg2) {
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = arg0;
    register long a1 __asm__("a1") = arg1;
    register long a2 __asm__("a2") = arg2;
    // Linux preserves vector state only across the calls a program makes on purpose, and the
    // compiler must know: the ABI makes all of it caller-saved here.
    __asm__ volatile("ecall"
                     : "+r"(a0)
                     : "r"(a7), "r"(a1), "r"(a2)
                     : "memory", "vl", "vtype", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
                       "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18",
                       "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                       "v30", "v31");
    return a0;
}

// Memory --------------------------------------------------------------------------------------

typedef uint64_t __attribute__((may_alias)) word;

static bool both_aligned(const void *a, const void *b) {
    return (((uintptr_t)a | (uintptr_t)b) & (sizeof(word) - 1)) == 0;
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n) {
    uint8_t *to = dst;
    const uint8_t *from = src;
    if (both_aligned(dst, src)) {
        for (; n >= sizeof(word); n -= sizeof(word), to += sizeof(word), from += sizeof(word)) {
            *(word *)to = *(const word *)from;
        }
    }
    for (; n != 0; n--) {
        *to++ = *from++;
    }
    return dst;
}

void *memmove(void *dst, const void *src, size_t n) {
    uint8_t *to = dst;
    const uint8_t *from = src;
    if ((uintptr_t)dst - (uintptr_t)src >= n) { // dst is not inside [src, src + n)
        for (size_t i = 0; i < n; i++) {
            to[i] = from[i];
        }
    } else {
        for (size_t i = n; i-- != 0;) {
            to[i] = from[i];
        }
    }
    return dst;
}

void *memset(void *dst, int byte, size_t n) {
    uint8_t *to = dst;
    if (both_aligned(dst, NULL)) {
        const word pattern = (uint8_t)byte * UINT64_C(0x0101010101010101);
        for (; n >= sizeof(word); n -= sizeof(word), to += sizeof(word)) {
            *(word *)to = pattern;
        }
    }
    for (; n != 0; n--) {
        *to++ = (uint8_t)byte;
    }
    return dst;
}

int memcmp(const void *a, const void *b, size_t n) {
    const uint8_t *left = a;
    const uint8_t *right = b;
    for (size_t i = 0; i < n; i++) {
        if (left[i] != right[i]) {
            return left[i] - right[i];
        }
    }
    return 0;
}

// Output --------------------------------------------------------------------------------------

static char line[256];
static size_t line_length;

static void flush(void) {
    size_t done = 0;
    while (done < line_length) {
        const long n = syscall3(SYS_WRITE, STDOUT, (long)(line + done), (long)(line_length - done));
        if (n <= 0) {
            break; // nobody reads any more: the exit code still tells the result
        }
        done += (size_t)n;
    }
    line_length = 0;
}

static void put(char c) {
    line[line_length++] = c;
    if (c == '\n' || line_length == sizeof line) {
        flush();
    }
}

void rt_print(const char *text) {
    while (*text != '\0') {
        put(*text++);
    }
}

enum { MAX_DIGITS = 21 }; // of 2^64 - 1, and the end of the string

static const char *decimal(uint64_t value, char digits[MAX_DIGITS]) {
    char *first = digits + MAX_DIGITS - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return first;
}

void rt_print_u64(uint64_t value) {
    char digits[MAX_DIGITS];
    rt_print(decimal(value, digits));
}

void rt_print_hex(uint64_t value) {
    rt_print("0x");
    for (int shift = 60; shift >= 0; shift -= 4) {
        put("0123456789abcdef"[(value >> shift) & 15]);
    }
}

void rt_exit(int code) {
    flush();
    for (;;) {
        syscall3(SYS_EXIT, code, 0, 0);
    }
}

// Start ---------------------------------------------------------------------------------------

int main(int argc, char **argv);

// Only start.S calls it, with the stack as the kernel or the simulator left it.
__attribute__((used)) _Noreturn void rt_start(uintptr_t *stack) {
    rt_exit(main((int)stack[0], (char **)(stack + 1)));
}

uint64_t rt_parse_u64(const char *text, uint64_t otherwise) {
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    return at == text || *at != '\0' ? otherwise : value;
}

size_t rt_vlen(void) {
    size_t vlenb;
    __asm__("csrr %0, vlenb" : "=r"(vlenb));
    return 8 * vlenb;
}

uint64_t rt_time(void) {
    uint64_t ticks;
    __asm__ volatile("rdtime %0" : "=r"(ticks) : : "memory");
    return ticks;
}

// Inputs and checks ---------------------------------------------------------------------------

static uint64_t xorshift(uint64_t state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

void rt_fill(void *dst, size_t n, uint64_t seed) {
    uint8_t *to = dst;
    uint64_t state = seed ^ UINT64_C(0x9e3779b97f4a7c15); // xorshift must not start at 0
    for (; n >= sizeof state; n -= sizeof state, to += sizeof state) {
        state = xorshift(state);
        __builtin_memcpy(to, &state, sizeof state);
    }
    state = xorshift(state);
    for (size_t i = 0; i < n; i++) {
        to[i] = (uint8_t)(state >> (8 * i));
    }
}

uint64_t rt_hash(uint64_t hash, const void *data, size_t n) {
    const uint8_t *at = data;
    for (const uint8_t *end = at + n; at != end; at++) {
        hash = (hash ^ *at) * UINT64_C(0x100000001b3);
    }
    return hash;
}

// How many leading bytes, in whole words, are the same: the quick part of a comparison.
static size_t same_words(const void *a, const void *b, size_t n) {
    const word *left = a;
    const word *right = b;
    size_t i = 0;
    if (both_aligned(a, b)) {
        while (i < n / sizeof(word) && left[i] == right[i]) {
            i++;
        }
    }
    return i * sizeof(word);
}

static void print_mismatch(const char *what, size_t index, uint64_t got, uint64_t want) {
    rt_print("  ");
    rt_print(what);
    rt_print("[");
    rt_print_u64(index);
    rt_print("] is ");
    rt_print_hex(got);
    rt_print(", expected ");
    rt_print_hex(want);
    rt_print("\n");
}

// Little-endian, as everything here.
static uint64_t element(const void *array, size_t i, size_t size) {
    uint64_t bits = 0;
    memcpy(&bits, (const uint8_t *)array + i * size, size);
    return bits;
}

static bool same_elements(const char *what, const void *got, const void *want, size_t n,
                          size_t size) {
    for (size_t i = same_words(got, want, n * size) / size; i < n; i++) {
        const uint64_t is = element(got, i, size), expected = element(want, i, size);
        if (is != expected) {
            print_mismatch(what, i, is, expected);
            return false;
        }
    }
    return true;
}

bool rt_same_bytes(const char *what, const void *got, const void *want, size_t n) {
    return same_elements(what, got, want, n, 1);
}

bool rt_same_u16(const char *what, const void *got, const void *want, size_t n) {
    return same_elements(what, got, want, n, sizeof(uint16_t));
}

bool rt_same_i32(const char *what, const int32_t *got, const int32_t *want, size_t n) {
    return same_elements(what, got, want, n, sizeof(int32_t));
}

bool rt_same_f32(const char *what, const float *got, const float *want, size_t n) {
    return same_elements(what, got, want, n, sizeof(float));
}

bool rt_report(bool ok, const char *group, const char *variant) {
    rt_print(ok ? "PASS " : "FAIL ");
    rt_print(group);
    rt_print(" ");
    rt_print(variant);
    rt_print("\n");
    return ok;
}

bool rt_report_u64(bool ok, const char *group, uint64_t variant) {
    char digits[MAX_DIGITS];
    return rt_report(ok, group, decimal(variant, digits));
}

int rt_finish(bool ok, uint64_t checksum) {
    rt_print(ok ? "PASS checksum " : "FAIL checksum ");
    rt_print_hex(checksum);
    rt_print("\n");
    return ok ? 0 : 1;
}

void rt_report_bench(const char *name, const char *variant, uint64_t runs, uint64_t ticks) {
    rt_print("bench ");
    rt_print(name);
    rt_print(" ");
    rt_print(variant);
    rt_print(": ");
    rt_print_u64(runs);
    rt_print(" runs, ");
    rt_print_u64(ticks);
    rt_print(" ticks\n");
}
