"""A finding's place, from what the compiler, the checks and the error rule say."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import MetalBenchError
from metalbench.verify import Finding, FindingPlace, Kind, place_of

KERNELS = """#include <metal_stdlib>
using namespace metal;
kernel void beyond(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i + 1];
}
kernel void before(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[int(i) - 1];
}
kernel void race(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  if (i < 32) { y[0] = x[i]; }  // within the first threadgroup: others run at the same time
}
kernel void shared(device const float* x, device float* y, uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]]) {
  threadgroup float part[32];
  part[t] = x[i];
  y[i] = part[(t + 1) % 32];
}
kernel void endless(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  while (x[i] >= 0) { y[i] += 1; }
}
"""


def message_of(function: str, time_limit: float = 0.2) -> str:
    device = _core.open("cpu")
    library = device.compile(KERNELS, filename="folder/five.metal", checked=True)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    arguments = {"x": x, "y": y}
    dispatch = _core.Dispatch(library.pipeline(function), arguments, threads_in_grid=64, threads=32)
    with pytest.raises(MetalBenchError) as caught:
        device.run([dispatch], time_limit=time_limit)
    return str(caught.value)


@pytest.mark.parametrize(
    ("function", "line", "buffer", "byte", "thread", "threadgroup"),
    [
        ("beyond", 4, "x", 256, (31, 0, 0), (1, 0, 0)),
        ("before", 7, "x", -4, (0, 0, 0), (0, 0, 0)),
        ("race", 10, "y", 0, (1, 0, 0), (0, 0, 0)),
    ],
)
def test_a_fault_has_line_buffer_byte_and_thread(function, line, buffer, byte, thread, threadgroup):
    place = place_of(message_of(function))
    assert place.file is not None
    assert place.file.endswith("five.metal")
    assert (place.line, place.buffer, place.byte) == (line, buffer, byte)
    assert (place.thread, place.threadgroup) == (thread, threadgroup)


def test_threadgroup_memory_has_a_byte_and_no_buffer():
    place = place_of(message_of("shared"))
    assert place.line == 16
    assert place.buffer is None
    assert place.byte is not None
    assert place.thread is not None


def test_a_hang_has_a_thread():
    # Long enough for a busy machine to start its threads.
    assert place_of(message_of("endless", time_limit=2.0)).thread is not None


def test_a_compilers_error_has_file_line_and_column():
    with pytest.raises(MetalBenchError) as caught:
        _core.open("cpu").compile(
            "kernel void f() {\n  int a = b;\n}", filename="a b.metal"
        ).pipeline()
    place = place_of(str(caught.value))
    assert (place.file, place.line, place.column) == ("a b.metal", 2, 11)


@pytest.mark.parametrize(
    ("message", "place"),
    [
        (
            "[relu] y: expected 0 at (0, 187), got 3.4; 3004 of 4096 elements are wrong",
            FindingPlace(buffer="y", index=(0, 187)),
        ),
        ("[f] y: expected 0.5 at 7, got nothing; 1 of 8", FindingPlace(buffer="y", index=(7,))),
        ("[f] f.metal:2: unknown header line `// dispach:`", FindingPlace(file="f.metal", line=2)),
        (
            "[f] f.metal:3: access to invalid address 0x7f00; an index or pointer is wrong, by "
            "thread (1, 2, 3) of threadgroup (4, 5, 6)",
            FindingPlace("f.metal", 3, address="0x7f00", thread=(1, 2, 3), threadgroup=(4, 5, 6)),
        ),
        ("access to invalid address (nil)", FindingPlace(address="0x0")),
        ("the process died", FindingPlace()),
    ],
)
def test_place_of_reads_the_place_from_a_message(message, place):
    assert place_of(message) == place
    assert Finding(Kind.FAULT, message).place == place
