"""Every kernel of a family: what its header says, and what it computes on this device.

Without -m slow each runs in float32, and one in four with what checked builds see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from short_form import is_in_sample

from metalbench import _core
from metalbench.kernel.library import ALSO, FAMILIES, Entry, Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, small_sizes, verify, verify_checked
from metalbench.verify.admission import admit

LIBRARY = Library()
OWN = [LIBRARY.entry(name) for name in LIBRARY.names("families")]
MOST_LINES = 200
MOST_SHARED_LINES = 20
CHECKED = 4  # the sample of the short form has one kernel in this number


def by_speed() -> Iterator[object]:
    """Every kernel in every element type; slow, but for the first."""
    for entry in OWN:
        for at, dtype in enumerate(entry.kernel().dtypes):
            marks = pytest.mark.slow if at else ()
            yield pytest.param(entry, dtype, id=f"{entry.name}-{dtype}", marks=marks)


def checked_by_speed() -> Iterator[object]:
    for entry in OWN:
        quick = is_in_sample(entry.name, CHECKED)
        yield pytest.param(entry, id=entry.name, marks=() if quick else pytest.mark.slow)


every_kernel = pytest.mark.parametrize("entry", OWN, ids=lambda entry: entry.name)


@pytest.fixture(scope="module")
def device() -> _core.Device:
    return _core.open()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_tasks(family: str) -> None:
    names = LIBRARY.names(family)
    assert len(names) == len(set(names)) > 0
    for name in names:
        assert not LIBRARY.entry(name).orphaned, f"{family}/{ALSO}"


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
        lines = [line for line in kernel.text.splitlines() if not line.startswith(said)]
        for name, values in kernel.tunables.items():
            assert re.search(rf"\b{name}\b", "\n".join(lines)), name
            assert len(set(values)) == len(values) > (0 if name in given else 1), name

    def test_the_file_is_short(self, entry: Entry) -> None:
        assert len(entry.kernel().source.splitlines()) <= MOST_LINES


@pytest.mark.parametrize(("entry", "dtype"), list(by_speed()))
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
        report = verify(
            Builds(device, entry.kernel(), entry.task, dtype_name=dtype), VerifyPlan(sizes=sizes)
        )
        assert report.passed, report.findings


@pytest.mark.parametrize("entry", list(checked_by_speed()))
def test_accesses_are_sound(entry: Entry, device: _core.Device) -> None:
    kernel = entry.kernel()
    builds = Builds(device, kernel, entry.task, dtype_name=kernel.dtypes[0])
    report = verify_checked(builds, sizes=["small", "odd1"])
    assert report.passed, report.findings


@pytest.mark.slow
@every_kernel
def test_no_wrong_result_is_let_through(entry: Entry) -> None:
    passed = [each for each in admit(entry.task, sizes=["small", "odd1"]) if not each.rejected]
    assert not passed, passed


def test_kernels_share_headers_and_not_lines() -> None:
    seen: dict[tuple[str, ...], str] = {}
    for path in dict.fromkeys(entry.kernel().path for entry in [*LIBRARY, *OWN]):
        code = [line.strip() for line in path.read_text().splitlines()]
        code = [line for line in code if line and not line.startswith(("//", "#", "using"))]
        for start in range(len(code) - MOST_SHARED_LINES):
            window = tuple(code[start : start + MOST_SHARED_LINES + 1])
            assert seen.setdefault(window, path.name) == path.name, (path.name, window[0])
