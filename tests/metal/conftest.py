"""Tests of the Metal device that are marked `metal` need one: a Mac's, or the double's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from metal.adding import ADD

from metalbench import _core

if "metal_double.plugin" not in sys.modules:

    @pytest.fixture
    def metal_double():
        """The controls of the double, which only a run on the double has."""
        pytest.skip("makes Metal fail, which only the double can")


@pytest.fixture
def metal() -> _core.Device:
    """The Metal device."""
    return _core.open("metal")


@pytest.fixture
def add(metal: _core.Device) -> _core.Pipeline:
    """A kernel that adds `step` to every element of `x`."""
    return metal.compile(ADD, filename="add.metal").pipeline("add")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of compiled kernels of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("METALBENCH_CACHE", str(folder))
    return folder


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave those tests to test_on_the_double.py where there is no Metal device."""
    if "metal" in _core.devices():
        return
    here = [
        item for item in items if "metal" in item.path.parts and item.get_closest_marker("metal")
    ]
    items[:] = [item for item in items if item not in here]
    config.hook.pytest_deselected(items=here)
