# The inner loop of gemm_tile_ime, for the tile and the schedule of tile.h; gemm.h has the arguments.
#
# Assembly, because smt.vmadot has no intrinsic and its meaning depends on vtype: it must run under
# e8, m1 with vl = 32, and a compiler does not know that it may not move a vsetvli across it.
#
# The sources of a k block are `tokens` blocks of A, then OUTPUT_BLOCKS of B. Source n is read
# through x12 + n (a2, a3, ...) and loaded into v0 + n, or into v8 + n for every other k block where
# loads are ahead. All products of a k block go into different accumulators, the pairs v16, v18, ...

#include "tile.h"

    .option arch, +xsmtvdot
    .altmacro                           # %(expression) as an argument is its value

    .macro  load_through pointer, vd
    vle8.v  v\vd, (x\pointer)
    addi    x\pointer, x\pointer, 32
    .endm

    .macro  load first, n
    load_through %(12 + \n), %(\first + \n)
    .endm

    .macro  vmadot  vd, vs1, vs2
    smt.vmadot  v\vd, v\vs1, v\vs2
    .endm

# Product n of a k block: those of one block of B with each block of A are neighbours.
    .macro  product first, n, tokens
    .set    .Lb, \n / \tokens
    .set    .La, \n - .Lb * \tokens
    vmadot  %(16 + 2 * (.La * OUTPUT_BLOCKS + .Lb)), %(\first + .La), %(\first + \tokens + .Lb)
    .endm

    .macro  loads first, tokens
    .set    .Ln, 0
    .rept   \tokens + OUTPUT_BLOCKS
    load    \first, %.Ln
    .set    .Ln, .Ln + 1
    .endr
    .endm

    .macro  products first, tokens
    .set    .Ln, 0
    .rept   \tokens * OUTPUT_BLOCKS
    product \first, %.Ln, \tokens
    .set    .Ln, .Ln + 1
    .endr
    .endm

# The loads of the next k block, with the products of this one between and behind them: the last
# load has a product behind it that doesn't wait for it.
    .macro  loads_and_products next, first, tokens
    .set    .Lloads, \tokens + OUTPUT_BLOCKS
    .set    .Lproducts, \tokens * OUTPUT_BLOCKS
    .set    .Ln, 0
    .set    .Lp, 0
    .rept   .Lloads + .Lproducts
    .if     .Ln < .Lloads
    load    \next, %.Ln
    .endif
    .set    .Ln, .Ln + 1
    .if     .Lp < .Lproducts && .Lloads - .Ln < .Lproducts - .Lp
    product \first, %.Lp, \tokens
    .set    .Lp, .Lp + 1
    .endif
    .endr
    .endm

    .macro  round tokens
    .set    .Lfirst, 0
    .rept   UNROLL
#if PIPELINED
    loads_and_products %(8 - .Lfirst), %.Lfirst, \tokens
    .set    .Lfirst, 8 - .Lfirst
#else
    loads   0, \tokens
    products 0, \tokens
#endif
    .endr
    .endm

    .macro  point_behind pointer, previous
    add     x\pointer, x\previous, t0
    .endm

    .macro  point_at_sources tokens
    .if     \tokens + OUTPUT_BLOCKS > 2
    slli    t0, a0, 5                   # from one row of blocks to the next
    .endif
    .if     \tokens == 2
    mv      a4, a3
    add     a3, a2, t0
    .endif
    .set    .Ln, 12 + \tokens
    .rept   OUTPUT_BLOCKS - 1
    point_behind %(.Ln + 1), %.Ln
    .set    .Ln, .Ln + 1
    .endr
    .endm

    .macro  store_pair vs
    vs2r.v  v\vs, (a1)
    addi    a1, a1, 64
    .endm

    .macro  store tokens
    .set    .Ln, 16
    .rept   \tokens * OUTPUT_BLOCKS
    store_pair %.Ln
    .set    .Ln, .Ln + 2
    .endr
    .endm

# void name(k_blocks a0, out a1, a a2, w a3)
    .macro  tile name, tokens
    .globl  \name
    .type   \name, @function
    .p2align 2
\name:
    point_at_sources \tokens
    vsetvli t0, zero, e32, m8, ta, ma
    vmv.v.i v16, 0                      # v16..v23
    vmv.v.i v24, 0                      # v24..v31
    vsetvli t0, zero, e8, m1, ta, ma
    li      t0, UNROLL
#if PIPELINED
    beqz    a0, 4f
    addi    a0, a0, -1
    loads   0, \tokens
#endif
    bltu    a0, t0, 2f
1:  round   \tokens
    addi    a0, a0, -UNROLL
    bgeu    a0, t0, 1b
2:
#if PIPELINED
    products 0, \tokens
#endif
    beqz    a0, 4f
3:  loads   0, \tokens                  # k blocks that make no round
    products 0, \tokens
    addi    a0, a0, -1
    bnez    a0, 3b
4:  store   \tokens
    ret
    .size   \name, . - \name
    .endm

    .text
    tile    gemm_tile, TOKEN_BLOCKS
#if TOKEN_BLOCKS == 2
    tile    gemm_tile_4_tokens, 1
#endif

    .section .note.GNU-stack, "", @progbits
