"""Analyse the LLVM IR of one lane, so that a SIMD-group runs as one thread on vectors."""
