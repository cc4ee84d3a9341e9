"""Variants of the library's kernels that use Metal 4's tensors: NAME.metal4.metal.

Without -m slow each variant runs in one element type, which the sample of the short form chooses.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from short_form import draw_index

from metalbench import _core
from metalbench.checking.check import check
from metalbench.checking.findings import ALL, PERFORMANCE, TENSOR
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import Builds, compile_kernel
from metalbench.verify import VerifyPlan, verify

METAL4 = "metal4.0"
LIBRARY = Library()
ENTRIES = [
    entry
    for name in (*LIBRARY.names("all"), *LIBRARY.names("kernelbench"))
    if (entry := LIBRARY.entry(name)).variant_path is not None
]
every_variant = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def dtypes_by_speed() -> Iterator[object]:
    """Every variant in every element type; slow, but for one of each variant."""
    for entry in ENTRIES:
        dtypes = entry.kernel(standard=METAL4).dtypes
        quick = dtypes[draw_index(f"tensors {entry.name}", len(dtypes))]
        for dtype in dtypes:
            marks = () if dtype == quick else pytest.mark.slow
            yield pytest.param(entry, dtype, id=f"{entry.name}-{dtype}", marks=marks)


every_dtype = pytest.mark.parametrize(("entry", "dtype"), list(dtypes_by_speed()))


def test_the_library_has_variants() -> None:
    names = {"sqr_mm", "linear_bias", "qmm4", "qmm8", "sdpa_causal", "conv2d"}
    assert names <= {entry.name for entry in ENTRIES}


@every_variant
def test_the_header_fits_that_of_the_plain_kernel(entry: Entry) -> None:
    plain, variant = entry.kernel(), entry.kernel(standard=METAL4)
    assert (plain.variant, variant.variant, variant.chip) == ("", "metal4", None)
    assert set(variant.dtypes) <= set(plain.dtypes)
    assert len(variant.description) > 100
    assert variant.preferred, "no device chooses it without --std"


@every_dtype
def test_results_agree_with_the_oracle(entry: Entry, dtype: str) -> None:
    builds = Builds(_core.open("cpu"), entry.kernel(standard=METAL4), entry.task, dtype_name=dtype)
    report = verify(builds, VerifyPlan(sizes=["small", "odd1"]))
    assert report.passed, report.findings


@every_variant
def test_threadgroups_fit_a_device(entry: Entry) -> None:
    device = _core.open("cpu")
    kernel = entry.kernel(standard=METAL4)
    compiled = compile_kernel(device, kernel, entry.task, dtype_name=kernel.dtypes[-1])
    for line in kernel.dispatches:
        values = {**entry.task.values(entry.task.headline), **compiled.tunables}
        assert compiled.launch(line, values).threads_per_threadgroup <= 1024
    for pipeline in compiled.pipelines.values():
        assert pipeline.threadgroup_bytes <= device.limits.max_threadgroup_bytes


@pytest.mark.slow
@every_dtype
def test_checks_find_nothing(entry: Entry, dtype: str) -> None:
    findings = check(entry.name, tools=[ALL, TENSOR], standard=METAL4, dtype=dtype)
    assert not findings.found, findings.found


@every_dtype
def test_performance_lints_are_silent(entry: Entry, dtype: str) -> None:
    findings = check(entry.name, tools=PERFORMANCE, standard=METAL4, dtype=dtype)
    assert not findings.found, findings.found
    assert not findings.skipped
