"""Compiler passes over LLVM IR: instrumentation, block layout, instructions of GPUs."""
