"""A function of one lane, written again as one of all lanes of a SIMD-group, in LLVM's IR."""
