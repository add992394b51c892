# The inner loops of gemm_tile_ime; see gemm.h for the arguments.
#
# Assembly, because smt.vmadot has no intrinsic and its meaning depends on vtype: it must run under
# e8, m1 with vl = 32, and a compiler does not know that it may not move a vsetvli across it. A file
# of its own rather than a string in C, so that each step has a line of its own in profiles.
#
# The loop is unrolled by 8 k blocks. The loads for the next k block stand between the products of
# this one, so that no product waits for a load; two sets of source registers alternate for that.
# All products of a k block go into different accumulators, which hides the latency of accumulation.

    .option arch, +xsmtvdot

    .text

    .macro  load reg, ptr
    vle8.v  \reg, (\ptr)
    addi    \ptr, \ptr, 32
    .endm

# 4 x 16: sources v0 (A) and v1..v4 (B), or v8 and v9..v12; accumulators v16 v18 v20 v22.
# a1 walks through A, a2 a5 a6 a7 through the four output blocks of B.

    .macro  load_4x16 a, b0, b1, b2, b3
    load    \a, a1
    load    \b0, a2
    load    \b1, a5
    load    \b2, a6
    load    \b3, a7
    .endm

    .macro  last_4x16 a, b0, b1, b2, b3
    smt.vmadot  v16, \a, \b0
    smt.vmadot  v18, \a, \b1
    smt.vmadot  v20, \a, \b2
    smt.vmadot  v22, \a, \b3
    .endm

    .macro  step_4x16 a, b0, b1, b2, b3, next_a, next_b0, next_b1, next_b2, next_b3
    load    \next_a, a1
    smt.vmadot  v16, \a, \b0
    load    \next_b0, a2
    smt.vmadot  v18, \a, \b1
    load    \next_b1, a5
    smt.vmadot  v20, \a, \b2
    load    \next_b2, a6
    smt.vmadot  v22, \a, \b3
    load    \next_b3, a7
    .endm

    .macro  even_4x16
    step_4x16 v0, v1, v2, v3, v4, v8, v9, v10, v11, v12
    .endm

    .macro  odd_4x16
    step_4x16 v8, v9, v10, v11, v12, v0, v1, v2, v3, v4
    .endm

# void gemm_tile_ime_4x16(k_blocks a0, a a1, w a2, w_stride a3, out a4)
    .globl  gemm_tile_ime_4x16
    .type   gemm_tile_ime_4x16, @function
    .p2align 2
gemm_tile_ime_4x16:
    add     a5, a2, a3
    add     a6, a5, a3
    add     a7, a6, a3
    vsetvli t0, zero, e32, m8, ta, ma
    vmv.v.i v16, 0                      # v16..v23
    vsetvli t0, zero, e8, m1, ta, ma
    srli    t1, a0, 3                   # rounds of 8 k blocks
    andi    a0, a0, 7                   # and what is left
    beqz    t1, 2f
1:  load_4x16 v0, v1, v2, v3, v4
    even_4x16
    odd_4x16
    even_4x16
    odd_4x16
    even_4x16
    odd_4x16
    even_4x16
    last_4x16 v8, v9, v10, v11, v12
    addi    t1, t1, -1
    bnez    t1, 1b
2:  beqz    a0, 4f
3:  load_4x16 v0, v1, v2, v3, v4
    last_4x16 v0, v1, v2, v3, v4
    addi    a0, a0, -1
    bnez    a0, 3b
4:  vs8r.v  v16, (a4)                   # four 4x4 results of 64 bytes
    ret
    .size   gemm_tile_ime_4x16, . - gemm_tile_ime_4x16

# 8 x 16: sources v0 v1 (A) and v2..v5 (B), or v8 v9 and v10..v13; accumulators v16 v18 v20 v22 for
# the first token block, v24 v26 v28 v30 for the second. a1 t2 walk through A, a2 a3 a6 a7 through
# the four output blocks of B.

    .macro  load_8x16 a0, a1, b0, b1, b2, b3
    load    \a0, a1
    load    \a1, t2
    load    \b0, a2
    load    \b1, a3
    load    \b2, a6
    load    \b3, a7
    .endm

    .macro  last_8x16 a0, a1, b0, b1, b2, b3
    smt.vmadot  v16, \a0, \b0
    smt.vmadot  v24, \a1, \b0
    smt.vmadot  v18, \a0, \b1
    smt.vmadot  v26, \a1, \b1
    smt.vmadot  v20, \a0, \b2
    smt.vmadot  v28, \a1, \b2
    smt.vmadot  v22, \a0, \b3
    smt.vmadot  v30, \a1, \b3
    .endm

    .macro  step_8x16 a0, a1, b0, b1, b2, b3, next_a0, next_a1, next_b0, next_b1, next_b2, next_b3
    smt.vmadot  v16, \a0, \b0
    load    \next_a0, a1
    smt.vmadot  v24, \a1, \b0
    load    \next_a1, t2
    smt.vmadot  v18, \a0, \b1
    load    \next_b0, a2
    smt.vmadot  v26, \a1, \b1
    load    \next_b1, a3
    smt.vmadot  v20, \a0, \b2
    load    \next_b2, a6
    smt.vmadot  v28, \a1, \b2
    load    \next_b3, a7
    smt.vmadot  v22, \a0, \b3
    smt.vmadot  v30, \a1, \b3
    .endm

    .macro  even_8x16
    step_8x16 v0, v1, v2, v3, v4, v5, v8, v9, v10, v11, v12, v13
    .endm

    .macro  odd_8x16
    step_8x16 v8, v9, v10, v11, v12, v13, v0, v1, v2, v3, v4, v5
    .endm

# void gemm_tile_ime_8x16(k_blocks a0, a a1, w a2, w_stride a3, out a4, a_stride a5)
    .globl  gemm_tile_ime_8x16
    .type   gemm_tile_ime_8x16, @function
    .p2align 2
gemm_tile_ime_8x16:
    add     t2, a1, a5
    mv      t0, a3
    add     a3, a2, t0
    add     a6, a3, t0
    add     a7, a6, t0
    vsetvli t0, zero, e32, m8, ta, ma
    vmv.v.i v16, 0                      # v16..v23
    vmv.v.i v24, 0                      # v24..v31
    vsetvli t0, zero, e8, m1, ta, ma
    srli    t1, a0, 3                   # rounds of 8 k blocks
    andi    a0, a0, 7                   # and what is left
    beqz    t1, 2f
1:  load_8x16 v0, v1, v2, v3, v4, v5
    even_8x16
    odd_8x16
    even_8x16
    odd_8x16
    even_8x16
    odd_8x16
    even_8x16
    last_8x16 v8, v9, v10, v11, v12, v13
    addi    t1, t1, -1
    bnez    t1, 1b
2:  beqz    a0, 4f
3:  load_8x16 v0, v1, v2, v3, v4, v5
    last_8x16 v0, v1, v2, v3, v4, v5
    addi    a0, a0, -1
    bnez    a0, 3b
4:  vs8r.v  v16, (a4)                   # token block 0: four 4x4 results of 64 bytes
    addi    a4, a4, 256
    vs8r.v  v24, (a4)                   # token block 1
    ret
    .size   gemm_tile_ime_8x16, . - gemm_tile_ime_8x16

    .section .note.GNU-stack, "", @progbits
