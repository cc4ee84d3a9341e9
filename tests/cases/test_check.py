"""Small kernels, each of which showed a fault of `metalbench check`, and what must be reported."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.checking.check import check
from metalbench.checking.findings import Findings
from metalbench.kernel.library import find
from metalbench.kernel.prepare import Builds
from metalbench.report.findings import findings_text
from metalbench.verify import VerifyPlan, verify

CASES = Path(__file__).with_name("check")
# By file: kind, line and column of every error.
ERRORS = {
    "ui1": [("uninitialised", 9, 8)],
    "bo3": [("uninitialised", 12, 9)],
    "hidden2": [("out-of-bounds", 307, 14)],
    "mat20": [("simdgroup", 9, 3), ("simdgroup", 10, 3)],
    "sd8": [],
    "sh": [],
    "fc": [],
    "lg": [],
    "col": [("out-of-bounds", 7, 34), ("out-of-bounds", 8, 41), ("out-of-bounds", 8, 79)],
    "inp": [("write-to-input", 3, 75)],
}
# By kernel: what the message of `run` says in the end.
HINTS = {
    "long_bias": "it is as if the index of b were taken modulo 65536",
    "row_energy": "only elements of each row with index % 256 < 32 counted",
    "scaled_rows": "exactly where all of a row of x is 0, such as row",
}


def errors_of(findings: Findings) -> list[tuple[str, int, int]]:
    return [
        (each.kind, each.frame.line, each.frame.column) if each.frame else (each.kind, 0, 0)
        for each in findings.errors
    ]


@pytest.mark.parametrize("name", ERRORS)
def test_check_reports_the_defect_of_each_case(name):
    findings = check(CASES / f"{name}.metal")
    assert errors_of(findings) == ERRORS[name]
    assert findings.passed == (not ERRORS[name])


def test_every_case_has_an_expectation():
    assert {path.stem for path in CASES.glob("*.metal")} == {*ERRORS}
    assert {path.stem for path in (CASES / "wrong").glob("*.metal")} == {*HINTS}


def test_check_shows_errors_first_and_counts_hidden_findings():
    text = findings_text(check(CASES / "hidden2.metal"))
    assert text.startswith(f"{CASES / 'hidden2.metal'}:307:14: error: out-of-bounds")
    assert "45 more findings are not shown (warning: same-value-race 45)" in text
    assert "hidden2: 1 error, 300 warnings" in text


def test_assert_kernel_refuses_an_accumulator_that_is_never_set(capsys):
    path = CASES / "assert_kernel_unset.py"
    spec = importlib.util.spec_from_file_location("assert_kernel_unset", path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    lines = [line for line in capsys.readouterr().out.splitlines() if " passed " in line]
    assert [line.split(" passed ")[1].split()[0] for line in lines] == ["False", "False"]


@pytest.mark.parametrize("name", HINTS)
def test_run_explains_the_defect_of_each_case(name):
    (entry,) = find([name], None, [CASES / "wrong"])
    # Rows of zeros come up in inputs that are mostly zero, at a size with many rows.
    size = {"row_energy": "small"}.get(name, "seed")
    report = verify(
        Builds(_core.open("cpu"), entry.kernel(), entry.task), VerifyPlan(sizes=[size], timed=size)
    )
    assert not report.passed
    assert HINTS[name] in report.findings[0].message
