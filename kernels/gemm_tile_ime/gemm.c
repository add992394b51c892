// Packing, and the walk over the tiles; the products themselves are in tile.S.

#include "gemm.h"

static size_t round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

// Moves one tile [token_block][output_block][4][4] to its place in c.
static void unpack(size_t tokens, size_t columns, const int32_t *tile, int32_t *c,
                   size_t c_stride) {
    for (size_t t = 0; t < tokens; t++) {
        const int32_t *row = tile + (t / GEMM_ROWS) * GEMM_ROWS * GEMM_CHANNELS + t % GEMM_ROWS * 4;
        for (size_t n = 0; n < columns; n++) {
            c[t * c_stride + n] = row[n / GEMM_ROWS * (GEMM_ROWS * GEMM_ROWS) + n % GEMM_ROWS];
        }
    }
}

void gemm_tile_ime(size_t tokens, size_t channels, size_t k, const int8_t *a, const int8_t *w,
                   int32_t *c, size_t c_stride) {
    _Alignas(64) int32_t tile[GEMM_MAX_TOKENS * GEMM_CHANNELS];
    const size_t k_blocks = round_up(k, GEMM_DEPTH) / GEMM_DEPTH;
    const size_t stride = k_blocks * GEMM_BLOCK; // from one row block to the next, in a and in w
    for (size_t first = 0; first < channels; first += GEMM_CHANNELS) {
        const size_t left = channels - first;
        if (tokens <= GEMM_ROWS) {
            gemm_tile_ime_4x16(k_blocks, a, w, stride, tile);
        } else {
            gemm_tile_ime_8x16(k_blocks, a, w, stride, tile, stride);
        }
        unpack(tokens, left < GEMM_CHANNELS ? left : GEMM_CHANNELS, tile, c + first, c_stride);
        w += GEMM_CHANNELS / GEMM_ROWS * stride;
    }
}

void gemm_pack(size_t rows, size_t row_multiple, size_t k, const int8_t *from, int8_t *packed) {
    for (size_t row = 0; row < round_up(rows, row_multiple); row += GEMM_ROWS) {
        for (size_t i = 0; i < k; i += GEMM_DEPTH) {
            for (size_t r = row; r < row + GEMM_ROWS; r++) {
                for (size_t j = i; j < i + GEMM_DEPTH; j++) {
                    *packed++ = r < rows && j < k ? from[r * k + j] : 0;
                }
            }
        }
    }
}
