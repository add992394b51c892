// Packing, and the walk over the tiles; the products themselves are in tile.S.

#include "gemm.h"
#include "tile.h"

enum { TILE_TOKENS = TOKEN_BLOCKS * GEMM_ROWS, TILE_CHANNELS = OUTPUT_BLOCKS * GEMM_ROWS };

static size_t round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

// Moves one tile [token_block][output_block][4][4] to its place in c.
static void unpack(size_t tokens, size_t columns, const int32_t *tile, int32_t *c,
                   size_t c_stride) {
    for (size_t t = 0; t < tokens; t++) {
        const int32_t *from = tile + (t / GEMM_ROWS * TILE_CHANNELS + t % GEMM_ROWS) * GEMM_ROWS;
        int32_t *to = c + t * c_stride;
        size_t left = columns;
        for (; left >= GEMM_ROWS; left -= GEMM_ROWS, to += GEMM_ROWS) {
            __builtin_memcpy(to, from, GEMM_ROWS * sizeof *to);
            from += GEMM_ROWS * GEMM_ROWS;
        }
        for (size_t n = 0; n < left; n++) {
            to[n] = from[n];
        }
    }
}

void gemm_tile_ime(size_t tokens, size_t channels, size_t k, const int8_t *a, const int8_t *w,
                   int32_t *c, size_t c_stride) {
    _Alignas(64) int32_t tile[TILE_TOKENS * TILE_CHANNELS];
    const size_t k_blocks = round_up(k, GEMM_DEPTH) / GEMM_DEPTH;
    const size_t row = k_blocks * GEMM_BLOCK; // bytes of a row of blocks
    for (size_t n = 0; n < channels; n += TILE_CHANNELS) {
        for (size_t t = 0; t < tokens; t += TILE_TOKENS) {
            const int8_t *a_tile = a + t / GEMM_ROWS * row, *w_tile = w + n / GEMM_ROWS * row;
#if TOKEN_BLOCKS == 2
            if (tokens - t <= GEMM_ROWS) {
                gemm_tile_4_tokens(k_blocks, tile, a_tile, w_tile);
            } else
#endif
                gemm_tile(k_blocks, tile, a_tile, w_tile);
            unpack(least(tokens - t, TILE_TOKENS), least(channels - n, TILE_CHANNELS), tile,
                   c + t * c_stride + n, c_stride);
        }
    }
}

void gemm_pack(size_t rows, size_t row_multiple, size_t k, const int8_t *from, int8_t *packed) {
    for (size_t row = 0; row < round_up(rows, row_multiple); row += GEMM_ROWS) {
        for (size_t i = 0; i < k; i += GEMM_DEPTH) {
            for (size_t r = row; r < row + GEMM_ROWS; r++, packed += GEMM_DEPTH) {
                __builtin_memset(packed, 0, GEMM_DEPTH);
                if (r < rows) {
                    __builtin_memcpy(packed, from + r * k + i, least(k - i, GEMM_DEPTH));
                }
            }
        }
    }
}
