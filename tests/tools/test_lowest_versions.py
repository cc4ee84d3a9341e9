"""The lowest versions that are declared are those that the job with them installs."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "lowest_versions.py"


def printed(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(TOOL), *arguments], capture_output=True, check=True, text=True
    )
    return done.stdout.split()


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))


def test_lowest_versions_do_not_exceed_the_installed_ones() -> None:
    found = dict(line.split("==") for line in printed())
    assert {"click", "mlx", "numpy", "rich", "scipy"} <= found.keys()
    for name, lowest in found.items():
        assert numbers(lowest) <= numbers(version(name)), name


def test_the_lowest_versions_have_the_needed_features() -> None:
    found = dict(line.split("==") for line in printed())
    # `mx.depends`, and `click.ParamType[...]`.
    assert numbers(found["mlx"]) >= (0, 29, 4)
    assert numbers(found["click"]) >= (8, 4)


def test_listed_tests_exist() -> None:
    tests = printed("--tests")
    assert tests
    assert [each for each in tests if not (ROOT / each).exists()] == []
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "python tools/lowest_versions.py > lowest.txt" in workflow


@pytest.mark.parametrize("line", ['"numpy",', '"numpy<3",'])
def test_a_dependency_without_a_lowest_version_is_refused(line: str, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / TOOL.name).write_text(TOOL.read_text())
    (tmp_path / "pyproject.toml").write_text(f"[project]\ndependencies = [\n  {line}\n]\n")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "tools" / TOOL.name)],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 1
    assert "expected NAME>=VERSION" in done.stderr
