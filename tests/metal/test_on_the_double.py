"""The Metal device's own tests, and the suite for every device, over the double of Metal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


def _needs_metal(path: Path) -> bool:
    return path != Path(__file__).resolve() and "pytest.mark.metal" in path.read_text()


DEVICE = [TESTS / "test_tiny.py", *sorted((TESTS / "device").glob("test_*.py"))]
METAL = [path for path in sorted((TESTS / "metal").glob("test_*.py")) if _needs_metal(path)]
# Some files in each process: most of what one takes is its start.
TOGETHER = 8
# Once more with the latencies of a GPU, which change what is in flight when something goes wrong.
WITH_LATENCY = [TESTS / "metal" / name for name in ("test_windows.py", "test_failing_plans.py")]
LATENCY_NS = "60000"
TIME_LIMIT_S = 900


def parts(files: Sequence[Path]) -> list[Sequence[Path]]:
    """Return the parts of the tests, each of which has a process."""
    count = -(-len(files) // TOGETHER)
    return [files[start::count] for start in range(count)]


pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the double runs on Linux; a Mac has Metal itself"
)


@pytest.fixture(scope="module")
def double() -> Path:
    """Build once, so that a failure to build is reported once."""
    from metal_double.build import build

    return build()


@pytest.mark.parametrize("part", parts(METAL), ids=lambda part: part[0].name)
def test_on_the_double(double: Path, part: Sequence[Path]) -> None:
    run(double, part)


@pytest.mark.parametrize("part", parts(DEVICE), ids=lambda part: part[0].name)
def test_the_suite_for_every_device(double: Path, part: Sequence[Path]) -> None:
    run(double, part)


@pytest.mark.slow
@pytest.mark.parametrize("path", [*DEVICE, *METAL], ids=lambda path: str(path.relative_to(TESTS)))
def test_the_long_form(double: Path, path: Path) -> None:
    run(double, [path], "-m", "slow or not slow")


@pytest.mark.parametrize("path", WITH_LATENCY, ids=lambda path: str(path.relative_to(TESTS)))
def test_tests_pass_with_the_latencies_of_a_gpu(double: Path, path: Path) -> None:
    run(double, [path], METAL_DOUBLE_LATENCY_NS=LATENCY_NS)


def run(double: Path, paths: Sequence[Path], *options: str, **environment: str) -> None:
    """Run the tests of files on this build of the double, in a separate process."""
    command = [sys.executable, "-m", "pytest", "-p", "metal_double.plugin", "-n0"]
    answer = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-q", *options, *map(str, paths)],
        cwd=TESTS.parent,
        env={
            **os.environ,
            "PYTHONPATH": str(TESTS),
            "METAL_DOUBLE": str(double),
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=TIME_LIMIT_S,
    )
    if answer.returncode != 0:
        pytest.fail(f"{' '.join(answer.args)}\n{answer.stdout}", pytrace=False)
