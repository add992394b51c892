// Functions that are called in every way that C has.

#include <stddef.h>
#include <stdint.h>

struct requant {
    float scale;
    int8_t zero_point;
};

int32_t table[4] = {1, 2, 3, 4};
int counter;

int64_t sum(const int32_t *a, size_t n) {
    int64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += a[i];
    return total;
}

float scaled(struct requant to, float x) { return to.scale * x + (float)to.zero_point; }

struct requant made(float scale, int8_t zero_point) {
    struct requant to = {scale, zero_point};
    return to;
}

uint8_t *copy(uint8_t *to, const uint8_t *from, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
    return to + n;
}

int32_t apply(int32_t (*f)(int32_t, float), int32_t n) { return f(n, 0.5f) + 1; }

int count(void) { return ++counter; }

void write_at(int32_t *a, ptrdiff_t i) { a[i] = 7; }

int32_t read_at(const int32_t *a, ptrdiff_t i) { return a[i]; }

void write_const(const int32_t *a) { *(int32_t *)a = 7; }

void forever(void) {
    for (;;)
        __asm__ volatile("");
}

// Adds 1 to each element.
void increment(int16_t *a, size_t rows, size_t columns, size_t stride) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            a[i * stride + j]++;
}
