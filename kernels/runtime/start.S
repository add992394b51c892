# Entry point of every kernel: hands the initial stack to rt_start, which never returns.
#
# Weak, and in a section of its own, so that a program with its own _start drops this one.

    .section .text._start, "ax", @progbits
    .weak   _start
    .type   _start, @function
_start:
    .option push
    .option norelax                     # this very address computation must not go through gp
    lla     gp, __global_pointer$
    .option pop
    mv      a0, sp                      # argc, argv[], 0, envp[], 0, auxv[]
    andi    sp, sp, -16
    li      s0, 0                       # ends the chain of frames for debuggers
    call    rt_start
    unimp
    .size   _start, . - _start

    .section .note.GNU-stack, "", @progbits
