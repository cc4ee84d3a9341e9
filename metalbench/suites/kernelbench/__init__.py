"""KernelBench: 250 problems of three levels, first set for PyTorch on CUDA."""
