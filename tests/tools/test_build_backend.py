"""The build backend: what pip asks for is built once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BACKEND = ROOT / "build_backend" / "backend.py"
HOOKS = (
    "get_requires_for_build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "prepare_metadata_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "build_wheel",
    "build_editable",
    "build_sdist",
)
pytestmark = pytest.mark.skipif(not BACKEND.is_file(), reason="needs a checkout")


def load_backend() -> ModuleType:
    spec = importlib.util.spec_from_file_location("metalbench_build_backend", BACKEND)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The calls of scikit-build-core's hooks, which a double records."""
    made: list[tuple[str, Any]] = []
    build, package = ModuleType("scikit_build_core.build"), ModuleType("scikit_build_core")
    for name in HOOKS:

        def record(*arguments: Any, name: str = name) -> Any:
            made.append((name, arguments))
            return [] if name.startswith("get_requires") else "metalbench.dist-info"

        setattr(build, name, record)
    package.build = build  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scikit_build_core", package)
    monkeypatch.setitem(sys.modules, "scikit_build_core.build", build)
    return made


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_metadata_is_prepared_without_a_build(
    calls: list[tuple[str, Any]], kind: str, tmp_path: Path
) -> None:
    hook = f"prepare_metadata_for_build_{kind}"
    assert getattr(load_backend(), hook)(str(tmp_path), {"a": "b"}) == "metalbench.dist-info"
    assert calls == [(hook, (str(tmp_path), {"a": "b"}))]


def test_the_backend_has_every_hook_of_scikit_build_core(calls: list[tuple[str, Any]]) -> None:
    backend = load_backend()
    assert [name for name in HOOKS if not hasattr(backend, name)] == []
    backend.build_sdist("folder")
    assert calls[-1] == ("build_sdist", ("folder", None))
