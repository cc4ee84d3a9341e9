"""Checked builds for a device that cannot make them itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.errors import CompileError, DispatchError, TimeLimitExceeded, Unsupported
from metalbench.kernel import header as kernel
from metalbench.kernel import prepare
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import Kind, checked, verify_checked

WRONG = Path(__file__).parent / "wrong"


@dataclass
class Gpu:
    """A device that cannot check, and must not be asked to."""

    kind: str = "metal"
    checked_builds: bool = False


@pytest.fixture
def entry():
    return Library().entry("relu")


def test_verify_checked_uses_the_cpu_device_for_a_gpu(entry):
    assert verify_checked(Builds(Gpu(), entry.kernel(), entry.task)).passed


def test_a_finding_of_the_cpu_device_is_reported(entry):
    wrong = kernel.read(WRONG / "write_past_the_end.metal")
    (finding,) = verify_checked(Builds(Gpu(), wrong, entry.task)).findings
    assert finding.kind is Kind.OUT_OF_BOUNDS


def test_an_endless_kernel_is_a_finding(entry, monkeypatch):
    def hang(*_):
        raise TimeLimitExceeded("it has run for 60 s")

    monkeypatch.setattr(checked.Examiner, "run", hang)
    (finding,) = verify_checked(Builds(Gpu(), entry.kernel(), entry.task)).findings
    assert finding.kind is Kind.TIME_LIMIT


@pytest.mark.parametrize("error", [CompileError, DispatchError, Unsupported])
@pytest.mark.parametrize("stage", ["compile", "run"])
def test_an_error_of_the_cpu_device_is_noted_and_not_a_finding(entry, error, stage, monkeypatch):
    def fail(*_, **__):
        raise error("no such thing here")

    if stage == "compile":
        monkeypatch.setattr(prepare, "compile_kernel", fail)
    else:
        monkeypatch.setattr(checked.Examiner, "run", fail)
    report = verify_checked(Builds(Gpu(), entry.kernel(), entry.task))
    assert report.passed
    assert report.skipped == (
        "bounds and races were not checked: the cpu device checks them for metal, and could not: "
        "no such thing here",
    )
    finding = verify_checked(Builds(_core.open("cpu"), entry.kernel(), entry.task))
    assert finding.passed == (error is Unsupported)
