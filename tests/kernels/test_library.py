"""Every kernel of the library: what its header says, and what it computes on this device.

The full product of kernels, element types and tunings is marked slow. Without -m slow each kernel
runs in float32, a third of them in one of the other types as well, and a third with one tuning
that is not its default. The sample of the short form (`short_form.py`) has which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

import pytest
from short_form import draw_index

from metalbench import _core
from metalbench.kernel.header import Kernel
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import Builds, compile_kernel
from metalbench.kernel.source_files import find_included_headers
from metalbench.verify import VerifyPlan, small_sizes, verify, verify_checked

LIBRARY = Library()
TASKS = {"common": 75, "standard": 36, "full": 6}
HALF_PRECISION = ("relu", "softmax", "layer_norm", "mish", "sqr_mm")
# The library's standard: what a reader takes in at once, and what kernels may repeat of each other.
MOST_LINES = 200
MOST_SHARED_LINES = 20

T = TypeVar("T")


def one_of(several: Sequence[T], name: str) -> T:
    """Return the element of `several` that the sample of the short form has for a name."""
    return several[draw_index(name, len(several))]


def alternatives(kernel: Kernel) -> Iterator[dict[str, int]]:
    """Every value of every tunable that is not its default, one at a time."""
    for name, values in kernel.tunables.items():
        for value in values[1:]:
            yield {name: value}


def dtypes_by_speed() -> Iterator[object]:
    """Every kernel in every element type; slow, but for float32, and every third's one other."""
    for entry in LIBRARY:
        others = [each for each in entry.kernel().dtypes if each != "float32"]
        one_more = others and one_of([True, False, False], f"types {entry.name}")
        quick = ["float32", *([one_of(others, entry.name)] if one_more else [])]
        for dtype in entry.kernel().dtypes:
            marks = () if dtype in quick else pytest.mark.slow
            yield pytest.param(entry, dtype, id=f"{entry.name}-{dtype}", marks=marks)


def tunings_by_speed() -> Iterator[object]:
    """Every kernel with every tuning; slow, but for one of every third kernel."""
    for entry in LIBRARY:
        tunings = list(alternatives(entry.kernel()))
        quick = one_of([True, False, False], f"tuned {entry.name}")
        for tuning in tunings:
            chosen = quick and tuning is one_of(tunings, entry.name)
            marks = () if chosen else pytest.mark.slow
            label = "-".join([entry.name, *(f"{k}={v}" for k, v in tuning.items())])
            yield pytest.param(entry, tuning, id=label, marks=marks)


every_dtype = pytest.mark.parametrize(("entry", "dtype"), list(dtypes_by_speed()))
every_kernel = pytest.mark.parametrize("entry", list(LIBRARY), ids=lambda entry: entry.name)


@pytest.fixture(scope="module")
def device() -> _core.Device:
    return _core.open()


@pytest.mark.parametrize(("set_name", "count"), TASKS.items())
def test_the_set_is_complete_and_each_task_has_a_kernel(set_name: str, count: int) -> None:
    names = LIBRARY.names(set_name)
    assert len(names) == count
    assert [LIBRARY.entry(name).kernel_path().stem for name in names] == names


@pytest.mark.parametrize("name", HALF_PRECISION)
def test_kernel_and_task_offer_half_precision(name: str) -> None:
    entry = LIBRARY.entry(name)
    assert entry.kernel().dtypes == ("float32", "float16", "bfloat16")
    assert entry.task.dtypes == entry.kernel().dtypes


@every_kernel
class TestHeader:
    def test_every_kernel_has_a_description(self, entry: Entry) -> None:
        assert len(entry.kernel().description) > 100

    def test_names_the_element_types_of_the_task(self, entry: Entry) -> None:
        assert set(entry.task.dtypes) == set(entry.kernel().dtypes)

    def test_every_tunable_is_used_and_its_values_differ(self, entry: Entry) -> None:
        kernel = entry.kernel()
        given = next(iter(kernel.instances.values()), {})
        said = ("// tune:", "// defaults:", "// instance:")
        lines = [line for line in kernel.source.splitlines() if not line.startswith(said)]
        # Headers that read a macro of the kernel ask whether it is defined.
        headers = [each.read_text() for each in find_included_headers(kernel.source)]
        asked = set(re.findall(r"^#ifdef (\w+)$", "\n".join(headers), re.MULTILINE))
        for name, values in kernel.tunables.items():
            assert name in asked or re.search(rf"\b{name}\b", "\n".join(lines)), name
            assert len(set(values)) == len(values) > (0 if name in given else 1), name

    def test_threadgroups_fit_the_device_at_every_size(
        self, entry: Entry, device: _core.Device
    ) -> None:
        assert_fits(device, entry, {})


@pytest.mark.parametrize(("entry", "tuning"), list(tunings_by_speed()))
class TestTuning:
    def test_fits_the_device_at_every_size(
        self, entry: Entry, tuning: dict[str, int], device: _core.Device
    ) -> None:
        assert_fits(device, entry, tuning)

    def test_agrees_with_the_oracle(
        self, entry: Entry, tuning: dict[str, int], device: _core.Device
    ) -> None:
        report = verify(
            Builds(device, entry.kernel(), entry.task, tunables=tuning),
            VerifyPlan(sizes=["odd1"], seeds=[0]),
        )
        assert report.passed, report.findings


def assert_fits(device: _core.Device, entry: Entry, tuning: dict[str, int]) -> None:
    """The kernel's threadgroups are none too large for the device, in threads or in memory."""
    kernel, task = entry.kernel(), entry.task
    compiled = compile_kernel(device, kernel, task, tunables=tuning)
    for pipeline in compiled.pipelines.values():
        assert pipeline.threadgroup_bytes <= device.limits.max_threadgroup_bytes
    for size in task.sizes:
        values = {**task.values(size), **compiled.tunables}
        for line in kernel.dispatches:
            geometry = compiled.launch(line, values)
            most = device.limits.max_threads_per_threadgroup
            assert geometry.threads_per_threadgroup <= most, size


@every_dtype
class TestResults:
    def test_agree_with_the_oracle(self, entry: Entry, dtype: str, device: _core.Device) -> None:
        sizes = ["small", "odd1"]
        report = verify(
            Builds(device, entry.kernel(), entry.task, dtype_name=dtype), VerifyPlan(sizes=sizes)
        )
        assert report.passed, report.findings

    @pytest.mark.slow
    def test_agree_with_the_oracle_at_other_sizes(
        self, entry: Entry, dtype: str, device: _core.Device
    ) -> None:
        sizes = [each for each in small_sizes(entry.task) if each not in ("small", "odd1")]
        assert sizes
        report = verify(
            Builds(device, entry.kernel(), entry.task, dtype_name=dtype), VerifyPlan(sizes=sizes)
        )
        assert report.passed, report.findings


@every_kernel
def test_accesses_are_sound(entry: Entry, device: _core.Device) -> None:
    report = verify_checked(Builds(device, entry.kernel(), entry.task), sizes=["small", "odd1"])
    assert report.passed, report.findings


@pytest.mark.slow
@every_dtype
def test_accesses_are_sound_in_every_type_and_at_every_small_size(
    entry: Entry, dtype: str, device: _core.Device
) -> None:
    report = verify_checked(Builds(device, entry.kernel(), entry.task, dtype_name=dtype))
    assert report.passed, report.findings


@every_kernel
def test_the_file_is_short(entry: Entry) -> None:
    assert len(entry.kernel().source.splitlines()) <= MOST_LINES


def test_kernels_share_headers_and_not_lines() -> None:
    seen: dict[tuple[str, ...], str] = {}
    for entry in LIBRARY:
        code = [line.strip() for line in entry.kernel().source.splitlines()]
        code = [line for line in code if line and not line.startswith(("//", "#", "using"))]
        for start in range(len(code) - MOST_SHARED_LINES):
            window = tuple(code[start : start + MOST_SHARED_LINES + 1])
            assert seen.setdefault(window, entry.name) == entry.name, (entry.name, window[0])
