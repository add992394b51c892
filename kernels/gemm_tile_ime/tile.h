// The tile and the schedule of its loop, as variants.toml varies them; for gemm.c and tile.S.

#ifndef GEMM_TILE_H
#define GEMM_TILE_H

#ifndef TOKEN_BLOCKS
#define TOKEN_BLOCKS 2 // 1 or 2, of 4 tokens each
#endif
#ifndef OUTPUT_BLOCKS
#define OUTPUT_BLOCKS 4 // 1, 2 or 4, of 4 output channels each
#endif
#ifndef UNROLL
#define UNROLL 8 // k blocks in a round of the loop, an even number
#endif
#ifndef PIPELINED
#define PIPELINED 1 // whether the loads are one k block ahead of the products
#endif

#endif
