// Byte operations, each at LMUL 1, 2, 4 and 8.

#ifndef MEMOPS_H
#define MEMOPS_H

#include <stddef.h>
#include <stdint.h>

enum { MEMOPS_TABLE = 16 };

// The operations at one LMUL; memops_lmul.h defines them.
struct memops {
    const char *lmul;

    void (*copy)(uint8_t *dst, const uint8_t *src, size_t n);
    void (*set)(uint8_t *dst, uint8_t byte, size_t n);

    // The first `byte` in src[0..n), or NULL. As for memchr, `n` may exceed the object if `byte`
    // is in it.
    const uint8_t *(*find)(const uint8_t *src, uint8_t byte, size_t n);

    // [n][fields] to [fields][n]. `fields` is 8 / LMUL, as a segment load fills at most 8
    // registers; at LMUL 8 there is none, and `transpose` is NULL.
    size_t fields;
    void (*transpose)(uint8_t *dst, const uint8_t *src, size_t n);

    // dst[i] = table[src[i] % 16]
    void (*lookup)(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *table);

    // Keeps the bytes below `limit` in their order and returns how many there are.
    size_t (*compact)(uint8_t *dst, const uint8_t *src, size_t n, uint8_t limit);
};

extern const struct memops memops_m1, memops_m2, memops_m4, memops_m8;

// The same operations, one byte at a time.
void scalar_copy(uint8_t *dst, const uint8_t *src, size_t n);
void scalar_set(uint8_t *dst, uint8_t byte, size_t n);
const uint8_t *scalar_find(const uint8_t *src, uint8_t byte, size_t n);
void scalar_transpose(uint8_t *dst, const uint8_t *src, size_t n, size_t fields);
void scalar_lookup(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *table);
size_t scalar_compact(uint8_t *dst, const uint8_t *src, size_t n, uint8_t limit);

#endif
