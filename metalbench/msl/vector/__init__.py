"""What it takes to run a SIMD-group as one thread on vectors: analysis of a kernel's LLVM IR."""
