"""Any PyTorch module as a task: files in KernelBench's format, read, traced and declared."""
