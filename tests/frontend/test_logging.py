"""os_log: what a kernel says arrives on standard error."""

import numpy as np
import pytest

from metalbench import _core

TEXT = """#include <metal_stdlib>
#include <metal_logging>
using namespace metal;
constant os_log own("subsystem", "category");
kernel void f(device float* a, uint i [[thread_position_in_grid]]) {
  os_log_default.log("thread %u: %.2f", i, a[i]);
  if (i == 1) own.log_error("half %.1f, %s\\n", 2.5h, "text");
  if (i == 2) own.log_with_type(os_log_type_info, "done");
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_messages_are_lines_on_standard_error(capfd, checked):
    device = _core.open("cpu")
    values = np.arange(3, dtype=np.float32) / 2
    pipeline = device.compile(TEXT, checked=checked).pipeline()
    device.run([_core.Dispatch(pipeline, {"a": values}, threads_in_grid=3, threads=3)])
    assert sorted(capfd.readouterr().err.splitlines()) == [
        "done",
        "half 2.5, text",
        "thread 0: 0.00",
        "thread 1: 0.50",
        "thread 2: 1.00",
    ]
