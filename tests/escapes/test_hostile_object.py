"""Native code that got past the front end, loaded by `metal_kernel` and by `metalbench run`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from escapes import calling_process, hostile_object, native_code
from escapes.hostile_object import Ground, environment, several_and_twice
from escapes.other_user import NOT_ALLOWED
from escapes.test_native_code import USERS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp and Landlock are Linux's")
NAMES = list(native_code.ESCAPES)
# What the system refuses with an error, and what it ends the process for; the last one again, in
# the process that takes the place of one that has ended.
FEW = ["reads a file", "writes a file", "signals its parent", "starts a program", "reads a file"]
EVERY_USER = pytest.mark.parametrize("user", USERS, ids=lambda user: f"user{user}")


@contextmanager
def new_ground() -> Iterator[Ground]:
    made = Ground()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METALBENCH_CACHE", str(made.cache))
        yield made
    made.remove()


@pytest.fixture(scope="module")
def calls() -> Iterator[Ground]:
    """Return a folder with hostile kernels of `metal_kernel`."""
    with new_ground() as ground:
        honest = tried(ground, "here", os.getuid(), NAMES[3:4])
        assert list(honest.values()) == ["3.0"]
        assert ground.smuggle("escape", hostile_object.ONE) == 1
        yield ground


@pytest.fixture
def hostile(calls: Ground) -> Ground:
    calls.restore()
    return calls


def tried(ground: Ground, how: str, user: int, names: Sequence[str]) -> dict[str, str]:
    """Return the outcomes of escapes in one process that calls `metal_kernel`."""
    numbers = [str(NAMES.index(name)) for name in names]
    command = [sys.executable, calling_process.__file__, how, str(user), *numbers]
    done = ended(command, ground)
    assert done.returncode == 0, done.stderr
    return dict(zip(names, done.stdout.splitlines(), strict=True))


def ended(command: Sequence[str], ground: Ground) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=environment(ground),
        cwd=ground.folder,
        timeout=300,
    )
    if done.returncode == NOT_ALLOWED:
        pytest.skip("only root may start the interpreter, and nothing may be mounted")
    return done


def are_refused(came: dict[str, str]) -> bool:
    ends = "KernelDied [escape] the kernel's process was ended by SIGSYS: it made a forbidden"
    return all(line == "1.0" or line.startswith(ends) for line in came.values())


@EVERY_USER
def test_a_sandboxed_object_reaches_no_file(hostile: Ground, user: int) -> None:
    came = tried(hostile, "sandbox", user, FEW)
    assert are_refused(came), came
    assert came["reads a file"] == "1.0", "the call after one that has died"
    assert "(it tried execve)" in came["starts a program"]
    assert hostile.is_untouched


# Objects that would leave code behind, to work during later measurements.
PROCESSES = [
    name
    for name, escape in native_code.ESCAPES.items()
    if escape.confined
    and any(word in name for word in ("fork", "child", "starts a program", "leaves", "functions"))
]


@EVERY_USER
def test_as_its_object_is_loaded_it_starts_no_process(user: int) -> None:
    """A constructor runs before the seal, in a process that is confined already."""
    tries = " ".join(f"if (escape{NAMES.index(name)}() == 0) came = 0;" for name in PROCESSES)
    with new_ground() as ground:
        honest = tried(ground, "here", os.getuid(), NAMES[3:4])
        assert list(honest.values()) == ["3.0"]
        assert ground.smuggle("escape", "y[0] = came;", tries) == 1
        came = tried(ground, "sandbox", user, ["forks"])
        assert came == {"forks": "1.0"}, came


@pytest.mark.slow
@EVERY_USER
def test_a_sandboxed_object_cannot_escape(hostile: Ground, user: int) -> None:
    came = tried(hostile, "sandbox", user, NAMES)
    assert are_refused(came), came
    assert hostile.is_untouched


def test_without_a_sandbox_a_hostile_object_succeeds(hostile: Ground) -> None:
    """So the others would fail if the sandbox did nothing."""
    came = tried(hostile, "here", os.getuid(), ["reads a file", "removes a file", "forks"])
    assert set(came.values()) == {"0.0"}, came
    assert not hostile.is_untouched


TASK = '''
"""Twice the input."""

from metalbench.task import normal, output, task

@task(
    sizes=dict(small=dict(n=4096), odd1=dict(n=77)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
    baseline="x + x",
    headline="small",
)
def twice(x):
    return x + x
'''
KERNEL = """// Twice the input.
// dispatch: twice threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 2 * x[i];
}
"""
RUN = """
import sys
from escapes.other_user import be_for_all_programs
from metalbench.cli import main
be_for_all_programs(int(sys.argv[1]))
main(["run", "twice", "--kernels", "kernels", "--db", "home/results.db", "--device", "cpu",
      "--time", "0.01", "--seed", "1"])
"""


@pytest.fixture(scope="module")
def runs() -> Iterator[Ground]:
    """Return a folder with the cache of a run of an honest kernel."""
    with new_ground() as ground:
        for name in ("kernels", "home"):
            folder = ground.folder / name
            folder.mkdir()
            folder.chmod(0o777)
        (ground.folder / "kernels/twice.py").write_text(TASK)
        (ground.folder / "kernels/twice.metal").write_text(KERNEL)
        done = run(ground, os.getuid())
        assert done.returncode == 0, done.stdout + done.stderr
        yield ground


@pytest.fixture
def run_of(runs: Ground) -> Ground:
    runs.restore()
    for path in (runs.folder / "home").iterdir():
        path.unlink()
    # As what it wrote belongs to who ran it.
    for path in (runs.cache, *runs.cache.rglob("*")):
        path.chmod(0o777)
    return runs


def run(ground: Ground, user: int) -> subprocess.CompletedProcess[str]:
    return ended([sys.executable, "-c", RUN, str(user)], ground)


# In this order one process lives through them: the last one ends it.
REFUSED = [
    name
    for name, escape in native_code.ESCAPES.items()
    if any(word in escape.body for word in ("opens(", "unlinkat", "renameat2", "PROT", "dlopen"))
]


@EVERY_USER
def test_a_hostile_object_learns_and_writes_nothing_in_a_run(run_of: Ground, user: int) -> None:
    """An object that fails with an error leaves a correct kernel, and is reported so."""
    assert run_of.smuggle("twice", several_and_twice([NAMES.index(name) for name in REFUSED])) > 0
    done = run(run_of, user)
    assert "correct" in done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    assert run_of.is_untouched


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("starts a program", "execve"),
        ("signals its parent", "kill"),
        pytest.param("forks", "clone", marks=pytest.mark.slow),
        pytest.param("makes a socket of the internet", "socket", marks=pytest.mark.slow),
        pytest.param("traces its parent", "ptrace", marks=pytest.mark.slow),
        pytest.param("enters other namespaces", "setns", marks=pytest.mark.slow),
    ],
)
@EVERY_USER
def test_run_reports_how_a_hostile_object_was_ended(
    run_of: Ground, user: int, name: str, call: str
) -> None:
    assert run_of.smuggle("twice", several_and_twice([NAMES.index(name)])) > 0
    done = run(run_of, user)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1, said
    assert "twice (float32): incorrect at verify" in said
    assert f"ended by SIGSYS: it made a forbidden system call (it tried {call})" in said
    assert run_of.is_untouched
