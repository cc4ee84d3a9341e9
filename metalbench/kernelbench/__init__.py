"""KernelBench: its problems, imported PyTorch modules, generated candidates, and metrics."""
