"""What was seen of a kernel, on which machine, and in what state that was."""

from metalbench.result.result import Case, Check, DeviceFacts, Failure, Result, Status

__all__ = ["Case", "Check", "DeviceFacts", "Failure", "Result", "Status"]
