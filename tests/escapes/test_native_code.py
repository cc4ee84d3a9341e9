"""Code of the host that got past the front end finds nothing to do in a process that is sealed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from escapes import host_process, native_code
from escapes.native_code import ESCAPES

import metalbench
from metalbench.isolation.confinement import landlock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp and Landlock are Linux's")
NOBODY = 65534
USERS = [os.getuid(), *([NOBODY] if os.getuid() == 0 else [])]
NAMES = list(ESCAPES)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that everybody may read and write in, as the files in it."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o777)
    for name in ("secret", "emptied", "removed", "moved", "results.db"):
        (made / name).write_text(name)
        (made / name).chmod(0o666)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def library(folder: Path) -> Path:
    code = native_code.source(folder, Path(metalbench.__file__).parent)
    native_code.build(code, folder / "library.so")
    return folder / "library.so"


def came_of(library: Path, how: str, user: int) -> dict[str, int]:
    """How each escape ended."""
    command = [sys.executable, host_process.__file__, str(library), str(len(ESCAPES)), how]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    given = {"user": user, "group": user, "extra_groups": []} if user != os.getuid() else {}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, **given
    )
    assert done.returncode == 0, done.stderr
    codes = [int(line.split()[1]) for line in done.stdout.splitlines()]
    if host_process.NOT_HELD in codes:
        pytest.skip(f"this system does not let a process be {how}")
    return dict(zip(NAMES, codes, strict=True))


@pytest.fixture(scope="module", params=USERS, ids=lambda user: f"user{user}")
def sealed(library: Path, request: pytest.FixtureRequest) -> dict[str, int]:
    return came_of(library, "sealed", request.param)


@pytest.mark.parametrize("name", NAMES)
def test_a_sealed_process_refuses_it(sealed: dict[str, int], name: str) -> None:
    assert sealed[name] in (host_process.REFUSED, -signal.SIGSYS)


def test_nothing_was_written(sealed: dict[str, int], folder: Path) -> None:
    for name in ("secret", "emptied", "removed", "moved", "results.db"):
        assert (folder / name).read_text() == name
    assert not (folder / "made").exists()


@pytest.mark.parametrize("user", USERS, ids=lambda user: f"user{user}")
def test_much_is_refused_before_that(library: Path, user: int) -> None:
    if not landlock.version():
        pytest.skip("this kernel has no Landlock")
    confined = came_of(library, "confined", user)
    refused = (host_process.REFUSED, -signal.SIGSYS)
    assert [
        name for name in NAMES if ESCAPES[name].confined and confined[name] not in refused
    ] == []


def test_a_process_that_nothing_holds_does_it(library: Path) -> None:
    """So the other tests would fail if nothing held."""
    free = came_of(library, "free", os.getuid())
    possible = [name for name in NAMES if ESCAPES[name].possible]
    assert [name for name in possible if free[name] != host_process.DONE] == []
