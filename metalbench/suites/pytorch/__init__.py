"""Any PyTorch module as a task: files in KernelBench's format, read, traced and declared."""

from metalbench.suites.pytorch.declaration import buffer, given, imported, parameter

__all__ = ["buffer", "given", "imported", "parameter"]
