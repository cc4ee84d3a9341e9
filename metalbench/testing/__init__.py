"""Test and time kernels on any machine.

`check` and `assert_kernel` take MSL, or Python code over `mx.fast.metal_kernel`; `time` takes MSL.
The same functions are fixtures of pytest (`metalbench.pytest_plugin`).
"""

from metalbench.testing.assertion import assert_kernel, check
from metalbench.testing.checked import Checked
from metalbench.testing.timing import Timing, time

__all__ = ["Checked", "Timing", "assert_kernel", "check", "time"]
