"""Code of the host that got past the front end finds nothing to do in a process that is sealed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from escapes import host_process, native_code
from escapes.native_code import ESCAPES

import metalbench
from metalbench.sandbox import landlock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp and Landlock are Linux's")
NOBODY = 65534
USERS = [os.getuid(), *([NOBODY] if os.getuid() == 0 else [])]
NAMES = list(ESCAPES)
FILES = ("secret", "emptied", "removed", "moved", "results.db")
REFUSED = (host_process.REFUSED, -signal.SIGSYS)


class Ground:
    """A folder that everybody may read and write in, and a library of code that wants to."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.folder.chmod(0o777)
        for name in FILES:
            (self.folder / name).write_text(name)
            (self.folder / name).chmod(0o666)
        self._library = self.folder / "library.so"
        code = native_code.source(self.folder, Path(metalbench.__file__).parent)
        native_code.build(code, self._library)
        shutil.copy(self._library, self.folder / "another.so")

    def came_of(self, how: str, user: int, names: Sequence[str] = NAMES) -> dict[str, int]:
        """Return how each escape of a user ended in a free, confined or sealed process."""
        numbers = [str(NAMES.index(name)) for name in names]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        done = subprocess.run(
            [sys.executable, host_process.__file__, str(self._library), how, str(user), *numbers],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        codes = [int(line) for line in done.stdout.splitlines()]
        if host_process.NOT_HELD in codes:
            pytest.skip(f"this system does not let a process be {how}")
        return dict(zip(names, codes, strict=True))


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    made = Ground()
    yield made
    shutil.rmtree(made.folder)


@pytest.fixture(scope="module", params=USERS, ids=lambda user: f"user{user}")
def sealed(ground: Ground, request: pytest.FixtureRequest) -> dict[str, int]:
    return ground.came_of("sealed", request.param)


@pytest.mark.parametrize("name", NAMES)
def test_a_sealed_process_refuses_the_call(sealed: dict[str, int], name: str) -> None:
    assert sealed[name] in REFUSED


def test_files_are_unchanged(sealed: dict[str, int], ground: Ground) -> None:
    for name in FILES:
        assert (ground.folder / name).read_text() == name
    assert not (ground.folder / "made").exists()


@pytest.mark.parametrize("user", USERS, ids=lambda user: f"user{user}")
def test_much_is_refused_before_that(ground: Ground, user: int) -> None:
    if not landlock.version():
        pytest.skip("this kernel has no Landlock")
    names = [name for name in NAMES if ESCAPES[name].confined]
    came = ground.came_of("confined", user, names)
    assert {name: code for name, code in came.items() if code not in REFUSED} == {}


def test_an_unconfined_process_permits_the_call() -> None:
    """So the other tests would fail if nothing held."""
    names = [name for name in NAMES if ESCAPES[name].possible]
    made = Ground()
    came = made.came_of("free", os.getuid(), names)
    shutil.rmtree(made.folder)
    assert {name: code for name, code in came.items() if code != host_process.DONE} == {}
