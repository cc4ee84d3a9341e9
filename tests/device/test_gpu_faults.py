"""Tests that may take a Mac's GPU from their process run there only when they are asked for."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

SPEC = importlib.util.spec_from_file_location(
    "conftest_of_devices", Path(__file__).with_name("conftest.py")
)
CONFTEST = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(CONFTEST)


def marks(name: str, kind: str, *, asked: bool) -> list[str]:
    """The marks that collection adds to a test of a device."""
    found = []
    item = SimpleNamespace(
        originalname=name,
        callspec=SimpleNamespace(params={"device": kind}),
        add_marker=lambda mark: found.append(getattr(mark, "name", mark)),
    )
    config = SimpleNamespace(getoption=lambda _: asked)
    CONFTEST.pytest_collection_modifyitems(config, [item])
    return found


@pytest.mark.parametrize("name", sorted(CONFTEST.FAULTS_ON_METAL))
def test_such_a_test_is_skipped_on_metal_unless_it_is_asked_for(monkeypatch, name):
    monkeypatch.delenv("METAL_DOUBLE", raising=False)
    assert marks(name, "metal", asked=False) == ["gpu_fault", "skip"]
    assert marks(name, "metal", asked=True) == ["gpu_fault"]
    assert marks(name, "cpu", asked=False) == []


def test_other_tests_run_and_all_run_on_the_double(monkeypatch):
    monkeypatch.delenv("METAL_DOUBLE", raising=False)
    assert marks("test_sums", "metal", asked=False) == []
    monkeypatch.setenv("METAL_DOUBLE", "1")
    assert marks(sorted(CONFTEST.FAULTS_ON_METAL)[0], "metal", asked=False) == []


def test_every_listed_name_is_a_test():
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert not [name for name in CONFTEST.FAULTS_ON_METAL if f"def {name}(" not in texts]
