"""Kernels: their header lines, the kernel library, and dispatches bound to a workload."""
