"""Every transformation of a plain kernel compiles and is right; recipes make all of them faster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from plain_sources import NAMES, read_plain

from agent_steel.source import source_key, with_source
from agent_steel.tuning.recipes import list_recipes
from agent_steel.tuning.transformations import TRANSFORMATIONS
from metalbench import _core, verify
from metalbench.kernel.header import Kernel
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan

# The techniques that apply to each plain kernel as it is.
ROWS = {
    "SIMD-groups a row",
    "elements per thread",
    "loads ahead",
    "unroll factors",
    "threads per threadgroup",
}
APPLY = {
    "argmax": ROWS,
    "avg_pool2d": {"vector loads", "unrolled loops"},
    "cross_entropy_loss": ROWS | {"fast functions"},
    "cumsum": ROWS,
    "embedding": {"vector loads"},
    "matvec": ROWS,
    "relu": {"vector loads", "elements per thread", "threads per threadgroup"},
    "rms_norm": {"fused dispatches", "fast functions", "loads ahead", "unroll factors"},
    "softmax": {"SIMD-groups a row", "fast functions", "reciprocals"},
    "sqr_mm": {"SIMD-group matrices", "vector loads", "loads ahead", "unroll factors"},
    "sum_rows": {"SIMD-groups a row"},
    "transpose_2d": {"tiles in threadgroup memory"},
}


def test_plain_kernels_are_of_twelve_techniques() -> None:
    assert sorted(APPLY) == NAMES
    assert len(NAMES) == 12


@pytest.mark.parametrize("name", NAMES)
def test_transformations_apply_to_the_kernels_they_are_for(name: str) -> None:
    _, kernel = read_plain(name)
    found = {each.technique for each in TRANSFORMATIONS if list(each.versions(kernel))}
    assert found == APPLY[name]


def _small_sizes(kernel: Kernel, names: list[str]) -> list[str]:
    return [each for each in names if each in ("small", "odd1", "odd2")]


def _cases() -> Iterator[tuple[str, str]]:
    for name in NAMES:
        for technique in sorted(APPLY[name]):
            yield name, technique


@pytest.mark.parametrize(("name", "technique"), list(_cases()))
def test_transformed_plain_kernels_are_right(name: str, technique: str) -> None:
    entry, kernel = read_plain(name)
    device = _core.open("cpu")
    (transformation,) = (each for each in TRANSFORMATIONS if each.technique == technique)
    for text in transformation.versions(kernel):
        other = with_source(kernel, text)
        assert source_key(other, {}) != source_key(kernel, {})
        for dtype in kernel.dtypes:
            builds = Builds(device, other, entry.task, dtype)
            sizes = _small_sizes(kernel, list(entry.task.sizes))
            report = verify.verify(builds, VerifyPlan(sizes=sizes, seeds=[0]))
            assert report.passed, (dtype, report.findings[0])


@pytest.mark.parametrize("name", NAMES)
def test_first_recipe_of_a_plain_kernel_is_right_in_a_checked_build(name: str) -> None:
    entry, kernel = read_plain(name)
    recipe = list_recipes(kernel, "memory")[0]
    builds = Builds(_core.open("cpu"), with_source(kernel, recipe.source), entry.task)
    sizes = _small_sizes(kernel, list(entry.task.sizes))
    assert verify.verify(builds, VerifyPlan(sizes=sizes, seeds=[0])).passed
    report = verify.verify_checked(builds, seed=0)
    assert report.passed, report.findings[0]


# Values that change which code runs: several rows a threadgroup, rows over several SIMD-groups,
# rows that stay in registers or do not.
VALUES = {
    "argmax": [{"WIDE": 64, "ROWS": 2, "KEEP": 0}, {"WIDE": 32, "ROWS": 1, "KEEP": 2, "HOLD": 1}],
    "softmax": [{"WIDE": 64, "ROWS": 4, "KEEP": 1}, {"WIDE": 32, "ROWS": 2, "KEEP": 0}],
    "cumsum": [{"WIDE": 128, "ROWS": 2}, {"WIDE": 32, "ROWS": 8}],
    "sum_rows": [{"WIDE": 1024, "ROWS": 1}, {"WIDE": 32, "ROWS": 1, "KEEP": 2, "HOLD": 1}],
    "sqr_mm": [
        {"LINES": 32, "COLUMNS": 64, "DEPTH": 8, "DOWN": 1, "ACROSS": 2},
        {"LINES": 128, "COLUMNS": 32, "DEPTH": 32, "DOWN": 4, "ACROSS": 1},
    ],
    "transpose_2d": [{"TILE": 64, "LINES": 32}, {"TILE": 32, "LINES": 16}],
    "avg_pool2d": [{"ACROSS": 8, "DOWN": 16}],
}


@pytest.mark.parametrize(
    ("name", "values"), [(name, each) for name, several in VALUES.items() for each in several]
)
def test_values_of_new_tunables_are_right(name: str, values: dict[str, int]) -> None:
    entry, kernel = read_plain(name)
    recipe = next(
        each
        for each in list_recipes(kernel, "memory")
        if set(values) <= set(with_source(kernel, each.source).tunables)
    )
    other = with_source(kernel, recipe.source)
    builds = Builds(_core.open("cpu"), other, entry.task, "float32", values)
    sizes = _small_sizes(kernel, list(entry.task.sizes))
    report = verify.verify(builds, VerifyPlan(sizes=sizes, seeds=[0]))
    assert report.passed, report.findings[0]
