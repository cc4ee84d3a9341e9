"""Kernels with tensors on the Metal device: MTLTensor objects, and the commands of Metal 4."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from msl.tensor_products import HEADER, METAL4

from metalbench import _core
from metalbench.cli import main
from metalbench.errors import (
    DispatchError,
    KernelFault,
    OutOfMemoryError,
    TimeLimitExceeded,
    Unsupported,
)

pytestmark = pytest.mark.metal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "tensors.md"

PRODUCT = f"""{HEADER}
kernel void product(tensor<device half, dextents<int32_t, 2>> A [[buffer(3)]],
                    tensor<const device half, dextents<int32_t, 2>> B,
                    tensor<device float, dextents<int32_t, 2>> C [[buffer(1)]],
                    constant float& scale,
                    uint2 tile [[threadgroup_position_in_grid]]) {{
  constexpr matmul2d_descriptor shape(32, 16, static_cast<int>(dynamic_extent), false, false, false,
                                      matmul2d_descriptor::mode::multiply);
  matmul2d<shape, execution_simdgroups<2>> op;
  auto a = A.slice(0, tile.y * 32);
  auto b = B.slice(tile.x * 16, 0);
  auto c = C.slice(tile.x * 16, tile.y * 32);
  auto sums = op.get_destination_cooperative_tensor<decltype(a), decltype(b), float>();
  op.run(a, b, sums);
  for (int i = 0; i < sums.get_capacity(); ++i) sums[i] *= scale;
  sums.store(c);
}}
"""
# Each element is used once, so that a wrong extent or stride changes the result.
COPY = f"""{HEADER}
kernel void copy(tensor<device int, dextents<int, 2>> from, device int* to, constant int& step,
                 uint2 at [[thread_position_in_grid]]) {{
  if (int(at.x) < from.get_extent(0) && int(at.y) < from.get_extent(1))
    to[at.y * from.get_extent(0) + at.x] = from[at.x, at.y] + step;
}}
"""
TIMEOUT, PAGE_FAULT, ACCESS_REVOKED, OUT_OF_MEMORY = 2, 3, 4, 8


@pytest.fixture
def metal4(request: pytest.FixtureRequest) -> _core.Device:
    """The Metal device of macOS 26."""
    if "metal_double.plugin" in sys.modules:
        request.getfixturevalue("metal_double").set("os_major", 26)
    device = _core.open("metal")
    if not device.capabilities["tensors"]:
        pytest.skip("this Mac has no tensors of Metal 4")
    return device


@pytest.fixture
def copy(metal4) -> _core.Pipeline:
    """A kernel that copies a tensor to dense rows, and adds `step`."""
    return metal4.compile(COPY, macros=METAL4).pipeline()


def copying(copy: _core.Pipeline, arguments: dict, step: int = 0) -> _core.Dispatch:
    whole = {"step": np.int32(step), **arguments}
    return _core.Dispatch(copy, whole, threads_in_grid=(8, 8), threads=(8, 8))


def operands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    a = generator.integers(-3, 4, (50, 40)).astype(np.float16)
    b = generator.integers(-3, 4, (40, 30)).astype(np.float16)
    return a, b, np.zeros((50, 30), np.float32)


def test_a_product_of_tensors_that_are_arrays(metal4) -> None:
    a, b, c = operands()
    kernel = metal4.compile(PRODUCT, macros=METAL4).pipeline()
    arguments = {"A": a, "B": b, "C": c, "scale": np.float32(2)}
    metal4.run([_core.Dispatch(kernel, arguments, threadgroups=(2, 2), threads=64)])
    assert (c == 2 * (a.astype(np.float64) @ b.astype(np.float64))).all()


def test_a_language_version_need_not_be_chosen_on_macos_26(metal4) -> None:
    a, b, c = operands()
    kernel = metal4.compile(PRODUCT).pipeline()
    arguments = {"A": a, "B": b, "C": c, "scale": np.float32(1)}
    metal4.run([_core.Dispatch(kernel, arguments, threadgroups=(2, 2), threads=64)])
    assert (c == a.astype(np.float64) @ b.astype(np.float64)).all()


@pytest.mark.parametrize("source", [PRODUCT, COPY], ids=["product", "copy"])
def test_both_devices_reflect_the_same_tensors(metal4, source) -> None:
    def reflect(device: _core.Device) -> list[tuple]:
        arguments = device.compile(source, macros=METAL4).pipeline().arguments
        return [
            (a.name, a.kind, a.index, a.type, a.address_space, a.access, a.element, a.element_bytes)
            for a in arguments
        ]

    assert reflect(metal4) == reflect(_core.open("cpu"))


def test_extents_and_strides_can_be_given(metal4, copy) -> None:
    whole, to = np.arange(48, dtype=np.int32).reshape(6, 8), np.zeros((4, 5), np.int32)
    sizes = np.array([5, 4, 1, 8], np.int64)
    memory = metal4.buffer(whole)
    for given in (sizes, sizes.tobytes()):
        to[:] = 0
        arguments = {"from": memory.slice(8 * 4 + 4, 156), "from.extents": given, "to": to}
        metal4.run([copying(copy, arguments, 7)])
        assert (to == whole[1:5, 1:6] + 7).all()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([4, 4, 2, 8], "expected stride 1 of the innermost dimension, which Metal requires, got 2"),
        (
            [4, 4, 1, 3],
            "expected a stride of 4 or more at dimension 1, which Metal requires, got 3",
        ),
        ([4, 0, 1, 4], "expected extents of 1 or more, which Metal requires, got 0 at dimension 1"),
        ([8, 7, 1, 8], "holds all elements of the extents, got 192 bytes"),
        ([1 << 62, 2, 1, 1 << 62], "holds all elements of the extents, got 192 bytes"),
        ([1 << 62, 2, 1, 1], "expected a stride of 4611686018427387904 or more at dimension 1"),
        ([4, 4, 2, 1, 4, 16], "expected 2 extents and as many strides of 64 bits, got 48 bytes"),
    ],
)
def test_extents_that_metal_does_not_take_are_refused(metal4, copy, sizes, message) -> None:
    memory = metal4.buffer(np.arange(48, dtype=np.int32))
    given = np.array(sizes, np.int64).tobytes()
    arguments = {"from": memory, "from.extents": given, "to": np.zeros(48, np.int32)}
    with pytest.raises(DispatchError, match=re.escape(message)):
        metal4.run([copying(copy, arguments)])


def test_rows_may_overlap_as_of_macos_27(metal_double) -> None:
    metal_double.set("os_major", 27)
    metal = _core.open("metal")
    kernel = metal.compile(COPY, macros=METAL4).pipeline()
    x, to = np.arange(8, dtype=np.int32), np.zeros((4, 5), np.int32)
    sizes = np.array([5, 4, 1, 1], np.int64).tobytes()
    arguments = {"from": metal.buffer(x), "from.extents": sizes, "to": to}
    metal.run([copying(kernel, arguments)])
    assert (to == np.lib.stride_tricks.sliding_window_view(x, 5)).all()


FOUR_BITS = f"""{HEADER}
kernel void f(tensor<device half, dextents<int, 2>> X,
              tensor<device uint4b_format, dextents<int, 2>> W,
              tensor<device float, dextents<int, 2>> Y) {{
  constexpr matmul2d_descriptor shape(16, 32, dynamic_length_v<int>, false, true);
  matmul2d<shape, execution_simdgroup> op;
  op.run(X, W, Y);
}}"""


@pytest.mark.parametrize("padded", [False, True])
def test_rows_of_four_bits_have_to_be_aligned(metal4, padded) -> None:
    generator = np.random.default_rng(0)
    x = generator.integers(-3, 4, (16, 64)).astype(np.float16)
    w = generator.integers(0, 16, (32, 64)).astype(np.uint8)
    y = np.zeros((16, 32), np.float32)
    memory = metal4.allocate(32 * (128 if padded else 32))
    packed = memory.numpy("uint8").reshape(32, -1)
    packed[:, :32] = w[:, 0::2] | w[:, 1::2] << 4
    sizes = np.array([64, 32, 1, 256 if padded else 64], np.int64).tobytes()
    arguments = {"X": x, "W": memory, "W.extents": sizes, "Y": y}
    kernel = metal4.compile(FOUR_BITS, macros=METAL4).pipeline()
    dispatch = _core.Dispatch(kernel, arguments, threadgroups=1, threads=32)
    if not padded:
        with pytest.raises(DispatchError, match=r"rows of a multiple of 32 elements.*pad the rows"):
            metal4.run([dispatch])
        return
    metal4.run([dispatch])
    assert (y == x.astype(np.float64) @ w.astype(np.float64).T).all()


def test_dispatches_and_passes_run_one_after_the_other(
    metal4, copy, metal_double, tmp_path
) -> None:
    x, y = np.zeros((8, 8), np.int32), np.zeros((8, 8), np.int32)
    there = copying(copy, {"from": x, "to": y}, 1)
    back = copying(copy, {"from": y, "to": x}, 1)
    metal4.capture([there, back], str(tmp_path / "passes.gputrace"), passes=100)
    assert (x == 200).all()
    assert metal_double.get("metal4_command_buffers") > 1


def test_windows_of_both_kinds_of_queues_run_one_after_the_other(
    metal4, copy, metal_double
) -> None:
    metal_double.set("latency_in_ns", 60000)
    metal_double.set("latency_out_ns", 60000)
    add = metal4.compile(
        "kernel void add(device int* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
    ).pipeline()
    x, y = np.zeros((8, 8), np.int32), np.zeros((8, 8), np.int32)
    one = _core.Dispatch(add, {"x": x}, threads_in_grid=64, threads=64)
    two = copying(copy, {"from": x, "to": y}, 1)
    for _ in range(3):
        metal4.run([one])
        metal4.run([two])
    assert (x == 3).all()
    assert (y == 4).all()
    assert metal_double.get("metal4_command_buffers") == 3


def test_a_program_may_have_kernels_without_tensors(metal4, copy) -> None:
    source = """#include <metal_stdlib>
    using namespace metal;
    kernel void add(device int* x, constant int4* steps, threadgroup int* shared [[threadgroup(0)]],
                    texture2d<float> t, sampler s, uint i [[thread_position_in_grid]]) {
      shared[i] = int(t.sample(s, float2(0.5f)).x);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      x[i] += steps[1].y + shared[63 - i];
    }"""
    add = metal4.compile(source).pipeline()
    x, y = np.zeros((8, 8), np.int32), np.zeros((8, 8), np.int32)
    arguments = {
        "x": x,
        "steps": np.arange(8, dtype=np.int32),
        "t": metal4.texture(np.full((4, 4), 30, np.float32)),
        "s": _core.Sampler(),
    }
    first = _core.Dispatch(
        add, arguments, threads_in_grid=64, threads=64, threadgroup_bytes={"shared": 256}
    )
    metal4.run([first, copying(copy, {"from": x, "to": y}, 2)])
    assert (x == 35).all()
    assert (y == 37).all()


def test_a_tensor_of_the_kernel_needs_no_commands_of_metal_4(metal4, metal_double) -> None:
    source = f"""{HEADER}
    kernel void f(device half* a, device half* b, device float* c) {{
      using Square = extents<int, 32, 32>;
      auto A = tensor(a, Square()), B = tensor(b, Square());
      auto C = tensor(c, Square());
      matmul2d<matmul2d_descriptor(32, 32, 32), execution_simdgroup> op;
      auto sums = op.get_destination_cooperative_tensor<decltype(A), decltype(B), float>();
      op.run(A, B, sums);
      sums.store(C);
    }}"""
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-3, 4, (32, 32)).astype(np.float16) for _ in range(2))
    c = np.zeros((32, 32), np.float32)
    kernel = metal4.compile(source, macros=METAL4).pipeline()
    arguments = {"a": a, "b": b, "c": c}
    metal4.run([_core.Dispatch(kernel, arguments, threadgroups=1, threads=32)])
    assert (c == a.astype(np.float64) @ b.astype(np.float64)).all()
    assert metal_double.get("metal4_command_buffers") == 0


def test_a_kernel_is_compiled_for_each_number_of_threads(metal4, metal_double) -> None:
    a, b, c = operands()
    kernel = metal4.compile(PRODUCT, macros=METAL4).pipeline()
    arguments = {"A": a, "B": b, "C": c, "scale": np.float32(1)}
    before = metal_double.get("pipelines")
    for _ in range(2):
        for threads in (64, (32, 2)):
            dispatch = _core.Dispatch(kernel, arguments, threadgroups=(2, 2), threads=threads)
            metal4.run([dispatch])
    assert metal_double.get("pipelines") - before == 2
    metal_double.set("fail_pipeline")
    with pytest.raises(DispatchError, match=r"threads: Metal does not compile the kernel for"):
        metal4.run([_core.Dispatch(kernel, arguments, threadgroups=(2, 2), threads=(16, 4))])


def test_a_tensor_that_the_kernel_does_not_use_is_not_bound(metal4, metal_double) -> None:
    metal_double.set("hide_unused")
    source = f"""{HEADER}
    kernel void f(tensor<device int, dextents<int, 2>> spare, device int* to) {{ to[0] = 3; }}"""
    kernel = metal4.compile(source, macros=METAL4).pipeline()
    assert [a.name for a in kernel.arguments] == ["spare", "to", "spare.extents"]


def test_memory_is_resident_while_a_plan_needs_it(metal4, copy, metal_double) -> None:
    x, y = np.arange(64, dtype=np.int32).reshape(8, 8), np.zeros((8, 8), np.int32)
    before = metal_double.get("resident_allocations")
    dispatch = copying(copy, {"from": x, "to": y}, 1)
    device_ns = metal4.run([dispatch])
    del dispatch
    assert (y == x + 1).all()
    assert device_ns > 0
    assert metal_double.get("resident_allocations") == before


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (TIMEOUT, TimeLimitExceeded),
        (OUT_OF_MEMORY, OutOfMemoryError),
        (PAGE_FAULT, KernelFault),
        (ACCESS_REVOKED, _core.Disturbed),
    ],
)
def test_errors_of_metal_4_are_told_apart(metal4, copy, metal_double, code, error) -> None:
    x, y = np.ones((8, 8), np.int32), np.zeros((8, 8), np.int32)
    metal_double.set("fail_command_buffer", code)
    with pytest.raises(error, match=re.escape("[copy]")):
        metal4.run([copying(copy, {"from": x, "to": y})])
    metal4.run([copying(copy, {"from": x, "to": y})])
    assert (y == 1).all()


def test_a_window_of_metal_4_that_hangs_is_left(metal4, copy, metal_double) -> None:
    x, y = np.ones((8, 8), np.int32), np.zeros((8, 8), np.int32)
    metal_double.set("hang_command_buffer")
    with pytest.raises(TimeLimitExceeded, match=r"time limit of 0\.1 s reached"):
        metal4.run([copying(copy, {"from": x, "to": y})], time_limit=0.1)
    metal4.run([copying(copy, {"from": x, "to": y})])
    assert (y == 1).all()


@pytest.mark.parametrize(
    ("switch", "message"),
    [
        ("no_queue", "gives no command queue of Metal 4: no queue"),
        ("no_encoder", "Metal gives no command encoder"),
    ],
)
def test_what_metal_does_not_give_is_told(metal4, copy, metal_double, switch, message) -> None:
    x, y = np.ones((8, 8), np.int32), np.zeros((8, 8), np.int32)
    metal_double.set(switch)
    with pytest.raises(_core.Error, match=message):
        metal4.run([copying(copy, {"from": x, "to": y})])
    metal_double.set(switch, 0)
    metal4.run([copying(copy, {"from": x, "to": y})])
    assert (y == 1).all()


@pytest.mark.parametrize(("names", "is_page"), [(["sqr_mm"], False), (["fused_linear"], True)])
def test_the_command_runs_kernels_with_tensors(metal_double, tmp_path, names, is_page) -> None:
    metal_double.set("os_major", 26)
    options = ["--std", "metal4.0", "--device", "metal", "--in-process", "--size", "small"]
    if is_page:
        text = PAGE.read_text(encoding="utf-8")
        for suffix, language in ((".py", "python"), (".metal", "metal")):
            (code,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
            (tmp_path / "fused_linear").with_suffix(suffix).write_text(code, encoding="utf-8")
        options += ["--kernels", str(tmp_path)]
    result = CliRunner().invoke(
        main,
        ["run", *names, *options, "--time", "0.02", "--json", "-", "--db", str(tmp_path / "x.db")],
    )
    assert result.exit_code == 0, result.output
    entries = json.loads(result.stdout)["results"]
    assert [entry["status"] for entry in entries] == ["correct"]
    assert entries[0]["gpu_ns"]["value"] > 0
    assert (metal_double.get("metal4_command_buffers") > 0) == is_page


def test_a_gpu_without_tensors_is_told(metal_double) -> None:
    metal_double.set("os_major", 26)
    metal_double.set("gpu_family", 6)
    device = _core.open("metal")
    assert device.capabilities["tensors"] is False
    message = r"\[copy\] metal: parameters that are tensors need macOS 26 and a GPU of Metal 4"
    with pytest.raises(Unsupported, match=message):
        device.compile(COPY, macros=METAL4).pipeline()


def test_the_device_tells_whether_it_has_tensors(metal4) -> None:
    assert metal4.capabilities["tensors"] is True
