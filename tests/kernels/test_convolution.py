"""metalbench/convolution.h and window_products.h beyond what tasks need: any kernel and stride."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metalbench import _core
from metalbench.checking.findings import apply_suppressions
from metalbench.checking.performance import lint_kernel
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import include_folders

Extents = tuple[int, ...]
SOURCE = """
    #include "metalbench/convolution.h"
    #include "metalbench/window_products.h"
    using namespace metalbench;
    [[kernel]] void convolve(device const float* x, device const float* w, device float* y,
                             constant uint4& input, constant uint2& channels,
                             uint3 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
      const Volume volume = {input.w, input.z, input.y, input.x, channels.x, channels.x};
      BODY
    }"""
PLAIN = """
      using Input = Patches<float, float, KERNEL, SAME>;
      using Tile = Product<Input, MatrixRows<float>, 32, 32, 16>;
      threadgroup float4 memory[Tile::kMemory];
      const Input patches = {x, volume};
      Tile product(tile.xy * 32, memory, PLACE);
      product.multiply(patches, {w, channels.y, patches.depth()}, patches.depth());
      product.store(Store<float>{y, patches.rows(), channels.y});"""
TRANSPOSED = """
      using Convolution = WindowProduct<float, Backward<STEPS>, TAPS, 32, 32, 16>;
      threadgroup float4 memory[Convolution::kMemory];
      const Convolution product = {x, w, y, volume, channels.y, 1};
      product.compute(tile, memory, PLACE);"""
BATCH, FILTERS = 2, 35


def ran(body: str, x: np.ndarray, w: np.ndarray, outputs: Extents, *, phases: int) -> np.ndarray:
    """`body` run on `x` (batch, *extents, channels) and `w` (filters, *kernel, channels)."""
    device = _core.open()
    source = SOURCE.replace("BODY", body)
    pipeline = device.compile(source, include_dirs=include_folders()).pipeline()
    y = np.full((BATCH, *outputs, FILTERS), np.nan, np.float32)
    values: dict[str, object] = {
        "x": x,
        "w": w,
        "y": y,
        "input": np.array([*x.shape[3:0:-1], BATCH], np.uint32),
        "channels": np.array([x.shape[-1], FILTERS], np.uint32),
    }
    groups = (-(-FILTERS // 32), -(-BATCH * int(np.prod(outputs)) // 32), phases)
    dispatch = _core.Dispatch(pipeline, values, threadgroups=groups, threads=(128, 1, 1))
    device.run([dispatch])
    return y


def drawn(extents: Extents, kernel: Extents, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, so that every order of summation gives the same."""
    random = np.random.Generator(np.random.Philox(7))
    x = random.integers(-8, 9, (BATCH, *extents, channels)).astype(np.float32)
    return x, random.integers(-8, 9, (FILTERS, *kernel, channels)).astype(np.float32)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("same", [False, True], ids=["valid", "same"])
@pytest.mark.parametrize("kernel", [(1, 1, 5), (1, 3, 5), (3, 1, 1), (3, 5, 3)], ids=str)
def test_patches_agree_with_a_convolution(kernel: Extents, same: bool, channels: int) -> None:
    x, w = drawn((3, 6, 7), kernel, channels)
    body = PLAIN.replace("KERNEL", "{}, {}, {}".format(*kernel)).replace("SAME", str(same).lower())
    padding = [(0, 0), *((each // 2, each // 2) if same else (0, 0) for each in kernel), (0, 0)]
    padded = np.pad(x, padding)
    z, r, c = (n - k + 1 for n, k in zip(padded.shape[1:4], kernel, strict=True))
    expected = np.zeros((BATCH, z, r, c, FILTERS), np.float32)
    for i, j, k in np.ndindex(*kernel):
        expected += padded[:, i : i + z, j : j + r, k : k + c] @ w[:, i, j, k].T
    np.testing.assert_array_equal(ran(body, x, w, (z, r, c), phases=1), expected)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("kernel", [(1, 1, 4), (1, 3, 5), (3, 3, 3)], ids=str)
def test_phases_make_up_a_transposed_convolution(
    kernel: Extents, stride: int, channels: int
) -> None:
    extents = tuple(n if k > 1 else 1 for n, k in zip((3, 4, 5), kernel, strict=True))
    x, w = drawn(extents, kernel, channels)
    steps = ", ".join(f"Along<{each}, {stride}>" if each > 1 else "Once" for each in kernel)
    body = TRANSPOSED.replace("STEPS", steps).replace("TAPS", str(math.prod(kernel)))
    z, r, c = ((n - 1) * stride + k for n, k in zip(extents, kernel, strict=True))
    expected = np.zeros((BATCH, z, r, c, FILTERS), np.float32)
    for i, j, k in np.ndindex(*kernel):
        places = zip((i, j, k), extents, strict=True)
        taps = (slice(at, at + (n - 1) * stride + 1, stride) for at, n in places)
        expected[(slice(None), *taps)] += x @ w[:, i, j, k].T
    phases = stride ** sum(each > 1 for each in kernel)
    np.testing.assert_array_equal(ran(body, x, w, (z, r, c), phases=phases), expected)


QUOTIENTS = """
    #include "metalbench/divisor.h"
    [[kernel]] void divide(device const uint* k, device const uint* by, device uint* y,
                           uint i [[thread_position_in_grid]]) {
      y[i] = metalbench::Divisor::of(by[i]).quotient(k[i]);
    }"""


def test_quotients_are_exact_beside_every_multiple():
    device = _core.open()
    library = device.compile(QUOTIENTS, include_dirs=include_folders())
    near_powers = [2**power + each for power in range(9, 32) for each in (-1, 0, 1)]
    by = np.r_[1:300, near_powers, 2**32 - 2, 2**32 - 1].astype(np.int64)
    last = (2**32 - 1) // by
    times = np.stack([last, last // 2, last // 3, np.minimum(last, 7), np.ones_like(by)], axis=1)
    multiples = by[:, None] * times
    dividends = np.concatenate([multiples - 1, multiples, np.minimum(multiples + 1, 2**32 - 1)], 1)
    k = dividends.ravel().astype(np.uint32)
    divisors = np.repeat(by, dividends.shape[1]).astype(np.uint32)
    y = np.zeros_like(k)
    arguments = {"k": k, "by": divisors, "y": y}
    device.run(
        [_core.Dispatch(library.pipeline(), arguments, threads_in_grid=(len(k),), threads=(64,))]
    )
    np.testing.assert_array_equal(y, k // divisors)


LIBRARY = Library()
# Sequences of instructions, and both sides of a branch, in every step of a product.
SLOW = ("integer-division", "divergent-branch", "wide-address", "strided-access")
MOST_REGISTERS = 128  # of a thread on Apple's GPUs; more are spilled to memory


@pytest.mark.parametrize(
    "name",
    [
        "conv_transpose2d",  # taps of a phase
        "conv1d_transpose",
        "conv3d_softmax_pool",  # windows of a pool
        "depthwise_conv2d",
        "kb1_055_conv_standard_2d",  # three channels: quads of several taps
        "kb2_019_conv_transpose2d_gelu_group_norm",  # shares of a group
        "kb2_036_conv_transpose2d_min_sum_gelu_add",  # shares of a pixel
        "kb2_078_conv_transpose3d_max_max_sum",  # phases that are joined
    ],
)
def test_convolutions_have_no_slow_operations_in_loops(name: str) -> None:
    entry = LIBRARY.entry(name)
    kernel = entry.kernel()
    lints = lint_kernel(kernel, entry.task, entry.task.gpu_headlines[0], dtype_name="float32")
    found, _, _ = apply_suppressions(lints.found, kernel.source, kernel.path, ("performance",))
    assert not [each for each in found if each.kind in SLOW]
    assert max(each.registers for each in lints.reports.values()) <= MOST_REGISTERS


@pytest.mark.parametrize("name", ["batch_norm", "conv3d_softmax_pool", "conv3d_div_pool_sum"])
def test_windows_and_column_norms_leave_room_for_two_threadgroups(name: str) -> None:
    entry = LIBRARY.entry(name)
    size = entry.task.gpu_headlines[0]
    lints = lint_kernel(entry.kernel(), entry.task, size, dtype_name="float32")
    assert "threadgroup-memory" not in [each.kind for each in lints.found]
