"""Emit a function of one lane as a function of a SIMD-group on LLVM vectors."""
