"""Declare the problems of KernelBench."""
