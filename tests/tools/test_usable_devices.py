"""Devices that tests on a hosted runner may use."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from metalbench import _core

TOOL = Path(__file__).parents[2] / "tools/usable_devices.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("usable_devices", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    def plug(family: str) -> None:
        device = SimpleNamespace(name="A GPU", capabilities={"family": family})
        monkeypatch.setattr(_core, "devices", lambda: ["metal", "cpu"])
        monkeypatch.setattr(_core, "open", lambda kind: device)

    return plug


@pytest.mark.parametrize("family", ["apple7", "apple9", "apple10"])
def test_a_gpu_like_an_m1s_or_newer_can_be_trusted(
    tool: ModuleType, gpu: Any, capsys: Any, family: str
) -> None:
    gpu(family)
    assert tool.usable() == "metal,cpu"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("family", ["apple5", "apple6", "mac2", ""])
def test_usable_reports_and_omits_the_gpu_of_a_virtual_machine(
    tool: ModuleType, gpu: Any, capsys: Any, family: str
) -> None:
    gpu(family)
    assert tool.usable() == "cpu"
    assert f"A GPU is of family {family or 'unknown'}" in capsys.readouterr().err


def test_usable_reports_and_omits_a_gpu_that_cannot_be_opened(
    tool: ModuleType, gpu: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise _core.Error("gives no usable GPU times")

    gpu("apple7")
    monkeypatch.setattr(_core, "open", fail)
    assert tool.usable() == "cpu"
    assert "gives no usable GPU times" in capsys.readouterr().err


def test_usable_without_a_gpu_prints_no_message(
    tool: ModuleType, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "devices", lambda: ["cpu"])
    assert tool.usable() == "cpu"
    assert capsys.readouterr().err == ""
