"""Results of kernels, with the machine and its state during the measurement."""

from metalbench.result.result import Case, Check, DeviceFacts, Failure, Result, Status

__all__ = ["Case", "Check", "DeviceFacts", "Failure", "Result", "Status"]
