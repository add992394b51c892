// int8 x int8 -> int32 matrix product with the matrix instructions of SpacemiT's X60 cores.
//
// smt.vmadot multiplies a 4x8 block of A with the transpose of a 4x8 block of B and adds the 4x4
// result to C. Its shape is that of VLEN 256, the only one this kernel runs at.

#ifndef GEMM_TILE_IME_H
#define GEMM_TILE_IME_H

#include <stddef.h>
#include <stdint.h>

enum {
    GEMM_VLEN = 256,
    GEMM_ROWS = 4,      // tokens or channels in a block
    GEMM_DEPTH = 8,     // k in a block
    GEMM_BLOCK = 32,    // bytes in a block
    GEMM_CHANNELS = 16, // to a multiple of which output channels are padded
    GEMM_MAX_TOKENS = 8,
};

// c[t * c_stride + n] = sum over i of a[t][i] * w[n][i]
//
//   tokens    1 to 8
//   channels  any; w is padded to a multiple of 16, c is not written beyond `channels`
//   a         packed [token_block][k_block][4][8], padded with zeros in both directions
//   w         packed [output_block][k_block][4][8], likewise
//   c_stride  in elements
void gemm_tile_ime(size_t tokens, size_t channels, size_t k, const int8_t *a, const int8_t *w,
                   int32_t *c, size_t c_stride);

// Row-major [rows][k] to [row_block][k_block][4][8] with zeros up to a multiple of `row_multiple`
// rows (4 for activations, 16 for weights) and of 8 columns.
void gemm_pack(size_t rows, size_t row_multiple, size_t k, const int8_t *from, int8_t *packed);

// The same product from the row-major matrices, one multiplication at a time.
void gemm_scalar(size_t tokens, size_t channels, size_t k, const int8_t *a_rows,
                 const int8_t *w_rows, int32_t *c, size_t c_stride);

// The tiles of tile.S: `k_blocks` blocks of TOKEN_BLOCKS rows of A times OUTPUT_BLOCKS of W, where
// each row of blocks begins where the one before it ends. `out` gets the 4x4 results as
// [token_block][output_block][4][4].
void gemm_tile(size_t k_blocks, int32_t *out, const int8_t *a, const int8_t *w);

// The same with one row of A, for up to 4 tokens where TOKEN_BLOCKS is 2.
void gemm_tile_4_tokens(size_t k_blocks, int32_t *out, const int8_t *a, const int8_t *w);

#endif
