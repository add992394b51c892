# y += 3*x, 20 elements in three rounds of a strip-mined loop, the last of them short; twice.
# Built without a runtime, so that the goldens depend on nothing else:
#   python -m ziglang cc -target riscv64-freestanding -mcpu=spacemit_x60 -nostdlib -static -g0 \
#       saxpy.S -o saxpy.elf

    .globl _start
    .type _start, @function
_start:
    la a1, x
    la a2, y
    li a0, 20
    li t1, 3
    fcvt.s.w fa0, t1
    call saxpy
    call saxpy
    li a0, 0
    li a7, 93
    ecall
    .size _start, . - _start

    .globl saxpy
    .type saxpy, @function
saxpy:
    mv a3, a0
    mv a4, a1
    mv a5, a2
strip:
    vsetvli t0, a3, e32, m1, ta, ma
    vle32.v v8, (a4)
    vle32.v v9, (a5)
    vfmacc.vf v9, fa0, v8
    vse32.v v9, (a5)
    sub a3, a3, t0
    sh2add a4, t0, a4
    sh2add a5, t0, a5
    bnez a3, strip
    ret
    .size saxpy, . - saxpy

    .data
    .balign 64
x:  .zero 80
    .balign 64
y:  .zero 80
