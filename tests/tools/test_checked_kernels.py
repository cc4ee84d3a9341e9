"""The record of the library's code that passed its checked runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from metalbench.kernel.library import Library

TOOL = Path(__file__).parents[2] / "tools" / "checked_kernels.py"


def load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("checked_kernels", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["checked_kernels"] = module
    spec.loader.exec_module(module)
    return module


tool = load_tool()


def test_the_librarys_kernels_are_in_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--check", *Library().names()]) == 0, capsys.readouterr().out


@pytest.mark.slow
def test_all_kernels_are_in_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--check"]) == 0, capsys.readouterr().out
    assert set(tool.read_record()) <= set(Library().names("all"))


def test_a_kernel_is_checked_before_it_is_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written: list[dict[str, dict[str, str]]] = []
    monkeypatch.setattr(tool, "read_record", dict)
    monkeypatch.setattr(tool, "write_record", lambda record: written.append({**record}))
    assert tool.main(["--check", "relu"]) == 1
    assert "not in checked.json; run python tools/checked_kernels.py relu" in (
        capsys.readouterr().out
    )
    assert tool.main(["relu"]) == 0
    (record,) = written
    builds = tool.list_builds(Library().entry("relu"))["float32"]
    assert record == {"relu": {"float32": tool.find_code(builds)}}


def test_a_kernel_with_a_finding_is_not_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "read_record", dict)
    monkeypatch.setattr(tool, "has_passed", lambda *_: False)
    monkeypatch.setattr(tool, "write_record", lambda _: pytest.fail("recorded"))
    assert tool.main(["relu"]) == 1
    assert "relu (float32): not in checked.json" in capsys.readouterr().out
