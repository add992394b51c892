"""The JIT: hot regions of guest code as native functions, through LLVM.

`discover` finds the blocks of a region, `lower` turns them into one LLVM function, `engine`
decides what is hot and drives native code and the interpreter on the same state.
"""
