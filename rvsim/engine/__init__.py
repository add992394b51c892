"""What executes: the reference engine and, in `jit`, the compiler of hot regions."""
