"""What kernels do on an Apple GPU that they are not tuned for: the first values of tunables.

A first value that suits the engine keeps most of a GPU idle: 32 threads for a row of logits, tiles
that fetch each element twice as often, lanes that read 64 bytes apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

import pytest

from metalbench import _core
from metalbench.expression import Expression
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, verify

LIBRARY = Library()
ENTRIES = [LIBRARY.entry(name) for name in LIBRARY.names("all")]
# Read once: it takes seconds.
KERNELS = [(entry, entry.kernel()) for entry in ENTRIES]
# Sizes of language models, besides those that other tests have.
MODEL_SIZES = ("decode", "vocabulary", "few", "dims64", "dims96", "dims256")
MOST_THREADS = 1024  # of a threadgroup
# Eight quads a thread hide the latency of memory where there is one threadgroup only.
MOST_COLUMNS_OF_A_THREAD = 32
LEAST_CORES = 8
# A SIMD-group computes each number of these layers' outputs, of which there are few, or compares
# the few proposed tokens of a text.
SMALL_LAYERS = {"alexnet", "densenet", "resnet", "speculative_greedy"}
# Tiles of 64 x 64 would be mostly empty: 16 or 32 filters, or rows of a small batch.
NARROW_PRODUCTS = {
    "conv_transpose3d_norm_pool_gelu",
    "conv2d_grouped",
    "densenet",
    "resnet",
    "gru_cell",
    "lstm_cell",
}
# Tiles that keep a GPU busy: several for each of 40 cores.
MANY_TILES = 256


@dataclass(frozen=True)
class AppleGpu:
    kind: str = "metal"
    chip: str | None = "m4_max"
    capabilities: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Launch:
    """One dispatch at one size: its function, threadgroups, and threads of each."""

    function: str
    threadgroups: int
    threads: int


def launches(entry: Entry, size: str) -> Iterator[Launch]:
    kernel = entry.kernel(AppleGpu())
    values = {**entry.task.values(size), **kernel.resolve_tunables(dtype="float32")}
    values = kernel.add_named_sizes(values)

    def evaluate(extents: tuple[Expression, ...]) -> list[int]:
        return [each.evaluate(values) for each in extents]

    for line in kernel.dispatches:
        threads = evaluate(line.threads)
        if line.threadgroups is not None:
            groups = evaluate(line.threadgroups)
        else:
            assert line.threads_in_grid is not None
            grid = evaluate(line.threads_in_grid)
            sides = threads + [1] * (len(grid) - len(threads))
            groups = [-(-all_ // own) for all_, own in zip(grid, sides, strict=True)]
        yield Launch(line.function, prod(groups), prod(threads))


def at_sizes(*sizes: str) -> list[object]:
    """Return the kernels at those of `sizes` that they have; products take seconds."""
    return [
        pytest.param(
            entry,
            size,
            id=f"{entry.name}-{size}",
            marks=pytest.mark.slow if "batch" in entry.task.sizes[size] else (),
        )
        for entry in ENTRIES
        for size in sizes
        if size in entry.task.sizes
    ]


def including(*headers: str) -> list[object]:
    return [
        pytest.param(entry, id=entry.name)
        for entry, kernel in KERNELS
        if any(f'#include "metalbench/{each}"' in kernel.source for each in headers)
    ]


every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


@every_entry
def test_other_tests_run_the_defaults_of_an_apple_gpu(entry: Entry) -> None:
    first, gpu = entry.kernel(), entry.kernel(AppleGpu())
    for dtype in first.dtypes:
        assert first.resolve_tunables(dtype=dtype) == gpu.resolve_tunables(dtype=dtype)


@pytest.mark.parametrize(("entry", "size"), at_sizes("decode", "vocabulary"))
def test_one_row_has_enough_threads(entry: Entry, size: str) -> None:
    extents = entry.task.sizes[size]
    columns = extents.get("cols") or extents["vocabulary"]
    least = min(MOST_THREADS, columns // MOST_COLUMNS_OF_A_THREAD)
    assert max(each.threadgroups * each.threads for each in launches(entry, size)) >= least


FITTED = [entry for entry, kernel in KERNELS if "LEAST" in kernel.tunables]


@pytest.mark.parametrize("entry", FITTED, ids=lambda entry: entry.name)
def test_a_short_row_has_no_simdgroup_that_is_idle(entry: Entry) -> None:
    kernel = entry.kernel(AppleGpu())
    line = kernel.dispatches[0]
    (threads,) = line.threads
    extents = threads.names - {*kernel.tunables}
    short = {**kernel.resolve_tunables(), **dict.fromkeys(extents, 1)}
    assert threads.evaluate(short) == 32
    long = {**short, **{name: 1 if name == "groups" else 4096 for name in extents}}
    assert threads.evaluate(long) >= 4096 // MOST_COLUMNS_OF_A_THREAD


KEEPING = [entry for entry, kernel in KERNELS if {"LEAST", "KEEP"} <= kernel.tunables.keys()]


@pytest.mark.parametrize("entry", KEEPING, ids=lambda entry: entry.name)
def test_threads_keep_what_a_row_has(entry: Entry) -> None:
    kernel = entry.kernel(AppleGpu())
    (threads,) = kernel.dispatches[0].threads
    tunables = kernel.resolve_tunables()
    values = {**tunables, **dict.fromkeys(threads.names - {*tunables}, 1)}
    for columns in (1000, 4096):
        values |= {name: columns for name in ("cols", "vocabulary") if name in values}
        kept = 4 * tunables["KEEP"] * threads.evaluate(values)
        assert kept - columns < 128 * tunables["KEEP"]


@every_entry
def test_threadgroups_have_two_simdgroups(entry: Entry) -> None:
    if entry.name in SMALL_LAYERS:
        pytest.skip("its last layers are small")
    for each in launches(entry, entry.task.gpu_headlines[0]):
        # A small launch is spread over the cores of the smallest chip.
        assert each.threads >= 64 or each.threadgroups <= LEAST_CORES, each


@every_entry
def test_many_tiles_are_large(entry: Entry) -> None:
    tile = entry.kernel(AppleGpu()).resolve_tunables(dtype="float32")
    if entry.name in NARROW_PRODUCTS or not {"BM", "BN"} <= tile.keys():
        return
    area = tile["BM"] * tile["BN"]
    count = next(launches(entry, entry.task.gpu_headlines[0])).threadgroups
    assert area >= 64 * 64 or count * area < MANY_TILES * 64 * 64


@pytest.mark.parametrize("entry", including("scan.h", "running.h"))
def test_lanes_of_a_scan_read_neighbours(entry: Entry) -> None:
    assert entry.kernel(AppleGpu()).resolve_tunables()["QUADS"] == 1


@pytest.mark.parametrize("entry", including("sort.h"))
def test_sorts_keep_keys_in_registers(entry: Entry) -> None:
    tunables = entry.kernel(AppleGpu()).resolve_tunables()
    assert tunables.get("HELD", 8) == 8


@pytest.mark.parametrize("entry", including("norm_gradients.h", "column_norm.h"))
def test_strips_of_columns_have_many_threads(entry: Entry) -> None:
    """A matrix of 1024 columns has 32 strips or less, so each needs several SIMD-groups."""
    for each in launches(entry, entry.task.gpu_headlines[0]):
        assert each.threadgroups * each.threads >= 8192, each


@pytest.mark.parametrize(("entry", "size"), at_sizes(*MODEL_SIZES))
def test_sizes_of_models_agree_with_the_oracle(entry: Entry, size: str) -> None:
    kernel = entry.kernel(AppleGpu())
    builds = Builds(_core.open("cpu"), kernel, entry.task, dtype_name=kernel.dtypes[0])
    report = verify(builds, VerifyPlan(sizes=[size], seeds=[0], time_limit=100.0))
    assert report.passed, report.findings
