"""Test os_log: messages of a kernel appear on standard error."""

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


VECTORS = """#include <metal_stdlib>
using namespace metal;
kernel void f(device float* a, uint i [[thread_position_in_grid]]) {
  os_log_default.log("100%% of %s: %v4f|%.1v2hlf|%5.2v3hf, %d", "all", float4(1, 2, 3, a[0]),
                     float2(0.25f, -1), half3(1, 2, 3.5h), 7);
  os_log_default.log_info("%v4hhd %v4hhx %v2hd %v3hlu %v2ld %d", char4(-1, 2, 3, 4),
                          uchar4(255, 16, 0, 1), short2(-5, 6), uint3(4000000000u),
                          long2(-9, 1ul << 40), 1);
  os_log_default.log("%*d and %i", 4, 5, 6);
  os_log_default.log("%v3f and nothing %f", packed_float3(1, 2, 3));
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_vectors_are_components_with_commas(capfd, checked):
    device = _core.open("cpu")
    pipeline = device.compile(VECTORS, checked=checked).pipeline()
    values = np.full(1, 0.5, np.float32)
    device.run([_core.Dispatch(pipeline, {"a": values}, threads_in_grid=1, threads=1)])
    assert capfd.readouterr().err.splitlines() == [
        "100% of all: 1.000000,2.000000,3.000000,0.500000|0.2,-1.0| 1.00, 2.00, 3.50, 7",
        "-1,2,3,4 ff,10,0,1 -5,6 4000000000,4000000000,4000000000 -9,1099511627776 1",
        "   5 and 6",
        "1.000000,2.000000,3.000000 and nothing ",
    ]


def test_a_long_message_ends_with_its_line(capfd):
    device = _core.open("cpu")
    text = (
        VECTORS.split("  os_log", maxsplit=1)[0]
        + 'os_log_default.log("%v2f %2000d", float2(1), 1); }'
    )
    pipeline, values = device.compile(text).pipeline(), np.zeros(1, np.float32)
    device.run([_core.Dispatch(pipeline, {"a": values}, threads_in_grid=1, threads=1)])
    said = capfd.readouterr().err
    assert said.endswith("\n")
    assert 1000 < len(said) <= 1024
