"""The record of the library's code that passed its checked runs."""

from __future__ import annotations

import pytest
from tool_module import load_tool

from metalbench.kernel.library import Library

tool = load_tool("checked_kernels")


def test_the_librarys_kernels_are_in_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--check", *Library().names()]) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_all_kernels_are_in_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--check"]) == 0, capsys.readouterr().out
    assert set(tool.read_record()) <= set(Library().names("all"))


def test_a_kernel_is_checked_before_it_is_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written: list[dict[str, str]] = []
    monkeypatch.setattr(tool, "read_record", dict)
    monkeypatch.setattr(tool, "write_record", lambda record: written.append({**record}))
    assert tool.main(["--check", "relu"]) == 1
    assert "not in checked.json; run python tools/checked_kernels.py relu" in (
        capsys.readouterr().out
    )
    assert tool.main(["relu"]) == 0
    (record,) = written
    assert record == {"relu": tool.find_code(tool.find_builds(Library().entry("relu")))}


def test_a_kernel_with_a_finding_is_not_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "read_record", dict)
    monkeypatch.setattr(tool, "has_passed", lambda *_: False)
    written: list[dict[str, str]] = []
    monkeypatch.setattr(tool, "write_record", lambda record: written.append({**record}))
    assert tool.main(["relu"]) == 1
    assert written == [{}]
    assert "relu: not in checked.json" in capsys.readouterr().out
