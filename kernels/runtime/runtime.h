// The little that the bundled kernels need from an operating system and a C library.
//
// The result is an ordinary static Linux program that makes two system calls, write and exit, so
// the same file runs on a board, in QEMU user mode and in rvsim.

#ifndef RVSIM_RUNTIME_H
#define RVSIM_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The program brings `int main(int argc, char **argv)` or `int main(void)`; its result is the exit
// code.

// What compilers emit calls to, even in freestanding code.
void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);

// Output is collected and written line by line.
void rt_print(const char *text);
void rt_print_u64(uint64_t value);
void rt_print_hex(uint64_t value); // 0x and 16 digits

_Noreturn void rt_exit(int code);

// Reads a decimal number; anything else is `otherwise`.
uint64_t rt_parse_u64(const char *text, uint64_t otherwise);

// VLEN in bits.
size_t rt_vlen(void);

// Ticks of the `time` CSR. Linux on the boards often forbids user code to read `cycle`.
uint64_t rt_time(void);

// Fills `dst` with the bytes of successive xorshift64 words, the same on every run.
void rt_fill(void *dst, size_t n, uint64_t seed);

// The same words as numbers in [-1, 1): the upper 24 bits of each 32, as multiples of 2^-23.
void rt_fill_f32(float *dst, size_t n, uint64_t seed);

// FNV-1a, 64 bits: continues `hash` (RT_HASH_INIT at first) over `n` bytes.
#define RT_HASH_INIT UINT64_C(0xcbf29ce484222325)
uint64_t rt_hash(uint64_t hash, const void *data, size_t n);

// True if both hold the same bytes; otherwise prints where they first differ. NaNs and zeros too
// are compared as bits.
bool rt_same_bytes(const char *what, const void *got, const void *want, size_t n);
bool rt_same_u16(const char *what, const void *got, const void *want, size_t n); // also f16, bf16
bool rt_same_i32(const char *what, const int32_t *got, const int32_t *want, size_t n);
bool rt_same_f32(const char *what, const float *got, const float *want, size_t n);

// a * b + c with one rounding. C's fmaf may set errno, and for that clang calls a library.
static inline float rt_fma(float a, float b, float c) {
    float result;
    __asm__("fmadd.s %0, %1, %2, %3" : "=f"(result) : "f"(a), "f"(b), "f"(c));
    return result;
}

// e^x with an error of about 1e-16 of the result, to measure the errors of narrower types.
double rt_exp(double x);

// The binary formats whose errors rt_ulps measures: digits of the significand, and the exponent of
// the smallest normal number.
struct rt_format {
    int digits, min_exponent;
};
extern const struct rt_format rt_f16, rt_f32;

// How far `got`, a number of the format, is from `want`, in units of the last place of `want`. 0 if
// both are NaN or `got` is `want` rounded to infinity; infinite if only one of them is.
double rt_ulps(struct rt_format format, double got, double want);

// Prints "PASS what: largest error 1.234 ulp, bound 2.000", or FAIL if `ulps` exceeds `bound`, and
// hands back which. Numbers are rounded up.
bool rt_report_ulps(const char *what, double ulps, double bound);

// Prints "PASS group variant" or "FAIL group variant" and hands `ok` back.
bool rt_report(bool ok, const char *group, const char *variant);
bool rt_report_u64(bool ok, const char *group, uint64_t variant);

// Prints the line that ends a run and returns the exit code that goes with it.
int rt_finish(bool ok, uint64_t checksum);

// Prints "bench name variant: n runs, t ticks".
void rt_report_bench(const char *name, const char *variant, uint64_t runs, uint64_t ticks);

#endif
