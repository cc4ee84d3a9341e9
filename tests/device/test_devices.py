"""The devices that a process may use."""

from __future__ import annotations

import pytest

from metalbench import _core


@pytest.mark.parametrize("named", ["", "metal,cpu,cuda", "cpu,cuda,metal", "cuda,metal"])
def test_existing_devices_can_be_named(monkeypatch, named):
    there = _core.devices()
    monkeypatch.setenv("METALBENCH_DEVICES", named)
    assert _core.devices() == there
    assert _core.open().kind == there[0]


def test_unnamed_devices_are_left_out(monkeypatch):
    monkeypatch.setenv("METALBENCH_DEVICES", "cpu")
    assert _core.devices() == ["cpu"]
    assert _core.open().kind == "cpu"
    with pytest.raises(_core.Unsupported, match="metal: left out by METALBENCH_DEVICES=cpu"):
        _core.open("metal")


@pytest.mark.parametrize("named", ["gpu", "cpu,gpu", "cpu,,metal", "CPU", "nvidia"])
def test_unknown_device_names_are_refused(monkeypatch, named):
    monkeypatch.setenv("METALBENCH_DEVICES", named)
    with pytest.raises(_core.DispatchError, match=f"several with commas, got {named}"):
        _core.devices()
    assert _core.open("cpu").kind == "cpu"
