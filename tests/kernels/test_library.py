"""Every kernel of the library: what its header says, and what it computes on this device."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from metalbench import _core
from metalbench.kernel import Kernel
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import compile_kernel
from metalbench.verify import Kind, small_sizes, verify, verify_checked

LIBRARY = Library()
RUNS = [
    pytest.param(entry, dtype, id=f"{entry.name}-{dtype}")
    for entry in LIBRARY
    for dtype in entry.kernel().dtypes
]
FIRST_TWENTY = {
    "common": (
        "relu gelu softmax layer_norm rms_norm cumsum argmax top_k transpose_2d matvec sqr_mm "
        "batch_mm conv2d max_pool2d mse_loss"
    ),
    "standard": "rope_embedding scaled_dot_product cross_entropy_loss add_norm",
    "full": "transformer_block",
}
HALF_PRECISION = ("relu", "softmax", "sqr_mm")


def alternatives(kernel: Kernel) -> Iterator[dict[str, int]]:
    """Every value of every tunable that is not its default, one at a time."""
    for name, values in kernel.tunables.items():
        for value in values[1:]:
            yield {name: value}


def without_each_barrier(kernel: Kernel) -> Iterator[tuple[int, Kernel]]:
    """The kernel without one of its barriers, and the line that it stood on."""
    lines = kernel.source.splitlines()
    for index, line in enumerate(lines):
        if "_barrier(" in line:
            source = "\n".join([*lines[:index], "", *lines[index + 1 :]])
            yield index + 1, replace(kernel, source=source)


BROKEN = [
    pytest.param(entry, kernel, id=f"{entry.name}-line{line}")
    for entry in LIBRARY
    for line, kernel in without_each_barrier(entry.kernel())
]
TUNINGS = [
    pytest.param(entry, tuning, id="-".join([entry.name, *(f"{k}={v}" for k, v in tuning.items())]))
    for entry in LIBRARY
    for tuning in alternatives(entry.kernel())
]


@pytest.fixture(scope="module")
def device() -> _core.Device:
    return _core.open()


@pytest.mark.parametrize("set_name", FIRST_TWENTY)
def test_the_set_has_its_first_tasks_and_each_has_a_kernel(set_name: str) -> None:
    names = FIRST_TWENTY[set_name].split()
    assert set(names) <= set(LIBRARY.names(set_name))
    assert [LIBRARY.entry(name).kernel_path().stem for name in names] == names


@pytest.mark.parametrize("name", HALF_PRECISION)
def test_kernel_and_task_offer_half_precision(name: str) -> None:
    entry = LIBRARY.entry(name)
    assert entry.kernel().dtypes == ("float32", "float16", "bfloat16")
    assert entry.task.dtypes == entry.kernel().dtypes


@pytest.mark.parametrize("entry", list(LIBRARY), ids=lambda entry: entry.name)
class TestHeader:
    def test_says_what_the_kernel_does_and_why(self, entry: Entry) -> None:
        assert len(entry.kernel().description) > 100

    def test_every_tunable_is_used_and_its_values_differ(self, entry: Entry) -> None:
        kernel = entry.kernel()
        body = "\n".join(
            line for line in kernel.source.splitlines() if not line.startswith("// tune:")
        )
        for name, values in kernel.tunables.items():
            assert re.search(rf"\b{name}\b", body), name
            assert len(set(values)) == len(values) > 1, name

    def test_threadgroups_fit_the_device_at_every_size_and_tuning(
        self, entry: Entry, device: _core.Device
    ) -> None:
        kernel, task = entry.kernel(), entry.task
        for tuning in [{}, *alternatives(kernel)]:
            compiled = compile_kernel(device, kernel, task, tunables=tuning)
            for pipeline in compiled.pipelines.values():
                assert pipeline.threadgroup_bytes <= device.limits.max_threadgroup_bytes, tuning
            for size in task.sizes:
                values = {**task.values(size), **compiled.tunables}
                for line in kernel.dispatches:
                    geometry = compiled.launch(line, values)
                    most = device.limits.max_threads_per_threadgroup
                    assert geometry.threads_per_threadgroup <= most, (tuning, size)


@pytest.mark.parametrize(("entry", "dtype"), RUNS)
class TestResults:
    def test_agree_with_the_oracle_at_small_and_odd_sizes(
        self, entry: Entry, dtype: str, device: _core.Device
    ) -> None:
        task = entry.task
        report = verify(device, entry.kernel(), task, sizes=small_sizes(task), dtype_name=dtype)
        assert report.passed, report.findings

    def test_come_from_sound_accesses(self, entry: Entry, dtype: str, device: _core.Device) -> None:
        report = verify_checked(device, entry.kernel(), entry.task, dtype_name=dtype)
        assert report.passed, report.findings


@pytest.mark.parametrize(("entry", "tuning"), TUNINGS)
def test_every_tuning_agrees_with_the_oracle(
    entry: Entry, tuning: dict[str, int], device: _core.Device
) -> None:
    report = verify(device, entry.kernel(), entry.task, sizes=["odd1"], seeds=[0], tunables=tuning)
    assert report.passed, report.findings


@pytest.mark.parametrize(("entry", "broken"), BROKEN)
def test_every_barrier_is_needed_and_its_absence_is_told(
    entry: Entry, broken: Kernel, device: _core.Device
) -> None:
    report = verify_checked(device, broken, entry.task)
    assert [finding.kind for finding in report.findings] in ([Kind.RACE], [Kind.UNINITIALISED])
