// malloc, realloc, calloc and free in a random order, small and large; mmap and its relatives.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t seed = 1;

static unsigned draw(unsigned below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static void fill(unsigned char *p, size_t n, unsigned tag) {
    for (size_t i = 0; i < n; i += 97)
        p[i] = (unsigned char)(tag + i);
}

static int holds(const unsigned char *p, size_t n, unsigned tag) {
    for (size_t i = 0; i < n; i += 97)
        if (p[i] != (unsigned char)(tag + i))
            return 0;
    return 1;
}

int main(void) {
    enum { SLOTS = 16, STEPS = 300 };
    unsigned char *blocks[SLOTS] = {0};
    size_t sizes[SLOTS] = {0};
    int wrong = 0, grown = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned slot = draw(SLOTS);
        size_t size = draw(8) ? draw(600) + 1 : draw(300000) + 1;
        if (!blocks[slot]) {
            blocks[slot] = malloc(size);
        } else if (draw(2)) {
            wrong += !holds(blocks[slot], sizes[slot], slot);
            blocks[slot] = realloc(blocks[slot], size);
            wrong += !holds(blocks[slot], size < sizes[slot] ? size : sizes[slot], slot);
            grown++;
        } else {
            free(blocks[slot]);
            blocks[slot] = NULL;
            continue;
        }
        if (!blocks[slot])
            return 1;
        sizes[slot] = size;
        fill(blocks[slot], size, slot);
    }
    printf("wrong %d, resized %d\n", wrong, grown);
    unsigned char *zeros = calloc(1 << 18, 1);
    unsigned sum = 0;
    for (int i = 0; i < 1 << 18; i += 512)
        sum += zeros[i];
    printf("calloc %u\n", sum);
    free(zeros);

    size_t page = 4096;
    unsigned char *map = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill(map, 4 * page, 5);
    unsigned char *moved = mremap(map, 4 * page, 64 * page, MREMAP_MAYMOVE);
    printf("mremap %d %d\n", holds(moved, 4 * page, 5), moved[40 * page]);
    printf("madvise %d", madvise(moved, page, MADV_DONTNEED));
    printf(" %d %d\n", moved[97], moved[page + 87] != 0);
    printf("mprotect %d munmap %d\n", mprotect(moved, page, PROT_READ), munmap(moved, 64 * page));
    printf("posix_memalign %d", posix_memalign((void **)&map, 1 << 16, 100));
    printf(" %d\n", (int)((uintptr_t)map & 0xffff));
    printf("too much: %s\n", malloc((size_t)1 << 60) ? "given" : "refused");
    return 0;
}
