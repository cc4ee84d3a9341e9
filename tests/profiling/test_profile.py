"""Profiles of files and of kernels of the library, and what a model makes of them."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import metalbench
from metalbench.chips import CHIPS
from metalbench.cli import main
from metalbench.errors import DeclarationError
from metalbench.profiling.profiler import estimate_time, find_chip
from metalbench.report.profile import steps

SAXPY = """// dispatch: saxpy threads_in_grid=(n) threads=(64)
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
#include <metal_stdlib>
using namespace metal;
kernel void saxpy(device const float* x, device float* y, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i] + 1;
}
"""


@pytest.fixture
def saxpy(tmp_path):
    path = tmp_path / "saxpy.metal"
    path.write_text(SAXPY)
    return path


def test_a_file_is_profiled(saxpy):
    found = metalbench.profile(saxpy)
    assert found.total.device_bytes == found.declared_bytes == 2 * 4 * 256
    assert (found.total.float_add, found.total.float_multiply) == (256, 256)
    (occupancy,) = found.occupancy
    assert (occupancy.threadgroups, occupancy.threads) == ((4, 1, 1), (64, 1, 1))
    # All of it is one line's.
    assert found.lines[str(saxpy), 9] == found.total


def test_a_library_kernel_moves_its_declared_bytes():
    found = metalbench.profile("relu")
    assert found.total.device_bytes == found.declared_bytes


def test_the_command_shows_table_lines_and_estimate(saxpy):
    said = CliRunner().invoke(main, ["profile", str(saxpy), "--lines", "--chip", "m4"])
    assert said.exit_code == 0, said.output
    assert "device: bytes read" in said.output
    assert "y[i] = 2 * x[i] + 1;" in said.output
    assert "Prediction for Apple M4 (10 GPU cores), not a measurement" in said.output
    assert "saxpy.metal:9" in said.output
    assert "Bounds by bandwidth and arithmetic of Apple M4" in said.output
    assert "They assume:" in said.output


def test_the_command_writes_json(saxpy):
    said = CliRunner().invoke(main, ["profile", str(saxpy), "--json", "-"])
    (dispatch,) = json.loads(said.stdout)["dispatches"]
    assert dispatch["counts"]["device_transactions"] == 2 * 256 // 32
    assert [each["line"] for each in dispatch["lines"]] == [9]


def test_an_estimate_is_a_range_with_its_assumptions(saxpy):
    found = metalbench.profile(saxpy)
    for chip in CHIPS.values():
        said = estimate_time(found, chip)
        assert 0 < said.least_s <= said.most_s
        assert any(chip.source in each for each in said.assumptions)
    # What moves memory takes as long as its bytes: 2 KiB at 120 GB/s.
    assert estimate_time(found, find_chip("m4")).most_s == pytest.approx(2048 / 120e9)


def test_find_chip_raises_for_an_unknown_chip(saxpy):
    with pytest.raises(DeclarationError, match="m44"):
        find_chip("m44")


def test_profile_writes_a_picture_of_accesses(saxpy, tmp_path):
    path = tmp_path / "saxpy.svg"
    said = CliRunner().invoke(main, ["profile", str(saxpy), "--picture", str(path)])
    assert said.exit_code == 0, said.output
    circles = ElementTree.parse(path).findall(".//{http://www.w3.org/2000/svg}circle")
    # A point for each access of 256 threads, and the legend of their two steps.
    assert len(circles) == 2 * 256 + 2


def test_a_trace_has_every_access_in_the_order_of_its_thread(saxpy):
    (trace,) = metalbench.profile(saxpy, traced=10_000).traces
    space, buffer, offset, turn = steps(trace)
    assert len(trace) == 2 * 256
    assert set(space.tolist()) == {0}
    read, written = turn == 0, turn == 1
    assert set(buffer[read].tolist()) != set(buffer[written].tolist())
    assert (
        sorted(offset[read].tolist()) == sorted(offset[written].tolist()) == list(range(0, 1024, 4))
    )


def test_a_trace_has_the_names_of_its_buffers(saxpy):
    found = metalbench.profile(saxpy, traced=10)
    assert found.buffers == (("x", "y", "n"),)


TENSORS = """\
// std: metal4.0
// buffer: a float16 (32, 32) normal
// buffer: b float16 (32, 32) normal
// buffer: y float32 (32, 64) output
// dispatch: product threadgroups=(1) threads=(128)
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
kernel void product(device half* a, device half* b, device float* y) {
  auto left = tensor(a, dextents<int, 2>(32, 32)), right = tensor(b, dextents<int, 2>(32, 32));
  auto target = tensor(y, dextents<int, 2>(64, 32));
  constexpr auto shape = matmul2d_descriptor(32, 32, static_cast<int>(dynamic_extent));
  matmul2d<shape, execution_simdgroups<4>> op;
  auto sums = op.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
  op.run(left, right, sums);
  sums.store(target);
  auto other = target.slice(32, 0);
  sums.store(other);
}
"""


def test_accesses_of_tensors_are_counted_at_their_lines(tmp_path):
    path = tmp_path / "product.metal"
    path.write_text(TENSORS)
    found = metalbench.profile(path)
    (dispatch,) = found.dispatches
    assert dispatch.unique_bytes_read == 2 * 2 * 32 * 32
    assert dispatch.unique_bytes_written == dispatch.total.device_bytes_written == 4 * 32 * 64
    lines = {line: each for (file, line), each in found.lines.items() if file == str(path)}
    assert lines[17].device_bytes_read == dispatch.total.device_bytes_read
    assert [lines[each].device_bytes_written for each in (18, 20)] == 2 * [4 * 32 * 32]


def test_the_table_has_unique_bytes_of_both_directions(saxpy):
    said = CliRunner().invoke(main, ["profile", str(saxpy)])
    for row in ("unique bytes read", "unique bytes written"):
        assert re.search(rf"{row} +1,024\n", said.output), said.output
