"""An unsupported version of jaxlib is refused before it can crash the process."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from metalbench.errors import Unsupported
from metalbench.hlo import jaxlib_version
from metalbench.hlo.jaxlib_version import NEXT, OLDEST, check_jaxlib


@pytest.mark.parametrize(
    "found", ["0.4.13", "0.9.2", "0.9.0.1", "0.13.0", "0.13.0.dev20300101", "1.0"]
)
def test_check_jaxlib_refuses_another_version(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxlib_version, "version", lambda _: found)
    with pytest.raises(Unsupported, match=rf"jaxlib: expected a version >=0.10,<0.13, got {found}"):
        check_jaxlib()


@pytest.mark.parametrize("found", ["0.10.0", "0.10.3.dev1+local", "0.11.2", "0.12.0.1"])
def test_check_jaxlib_takes_its_own_version(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxlib_version, "version", lambda _: found)
    check_jaxlib()


def test_check_jaxlib_reports_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(jaxlib_version, "version", missing)
    with pytest.raises(Unsupported, match=r"pip install 'metalbench\[hlo\]'"):
        check_jaxlib()


def test_context_checks_before_it_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    from metalbench.hlo.importer.module import get_context

    monkeypatch.setattr(jaxlib_version, "version", lambda _: "0.9.2")
    with pytest.raises(Unsupported, match=r"got 0\.9\.2"):
        get_context.__wrapped__()


def test_version_limits_agree_with_pyproject() -> None:
    declared = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for package in ("jaxlib", "jax"):
        assert f'"{package}>={OLDEST[0]}.{OLDEST[1]},<{NEXT[0]}.{NEXT[1]};' in declared
