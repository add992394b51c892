"""The back end LLVM: the rules of each primitive as LLVM IR."""
