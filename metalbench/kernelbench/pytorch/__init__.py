"""Any PyTorch module as a task. Files that `metalbench import-torch` writes import these names."""

from metalbench.kernelbench.pytorch.declaration import buffer, given, imported, parameter

__all__ = ["buffer", "given", "imported", "parameter"]
