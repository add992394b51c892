// In a file of its own, so that nothing of it is inlined into or specialised for the checks.

#include "memops.h"

void scalar_copy(uint8_t *dst, const uint8_t *src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        dst[i] = src[i];
    }
}

void scalar_set(uint8_t *dst, uint8_t byte, size_t n) {
    for (size_t i = 0; i < n; i++) {
        dst[i] = byte;
    }
}

const uint8_t *scalar_find(const uint8_t *src, uint8_t byte, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (src[i] == byte) {
            return src + i;
        }
    }
    return NULL;
}

void scalar_transpose(uint8_t *dst, const uint8_t *src, size_t n, size_t fields) {
    for (size_t field = 0; field < fields; field++) {
        for (size_t i = 0; i < n; i++) {
            dst[field * n + i] = src[i * fields + field];
        }
    }
}

void scalar_lookup(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *table) {
    for (size_t i = 0; i < n; i++) {
        dst[i] = table[src[i] % MEMOPS_TABLE];
    }
}

size_t scalar_compact(uint8_t *dst, const uint8_t *src, size_t n, uint8_t limit) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (src[i] < limit) {
            dst[kept++] = src[i];
        }
    }
    return kept;
}
