"""A process that is sealed once everything is loaded runs kernels, and does nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from metalbench.sandbox import landlock
from metalbench.sandbox.seccomp import parse_refused_call

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux filters system calls")
# As an executor does: load, seal, run. What follows the seal is put in place of AFTER.
PROGRAM = """
import _socket, mmap, os, sys, threading
import numpy as np
from metalbench import _core
from metalbench.sandbox.confinement import seal

SOURCE = '''
#include <metal_stdlib>
using namespace metal;
kernel void turn(device float* x, uint i [[thread_index_in_threadgroup]],
                 uint g [[threadgroup_position_in_grid]]) {
  threadgroup float shared[64];
  shared[i] = x[g * 64 + i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[g * 64 + i] = shared[63 - i];
}
kernel void wander(device float* x) { for (volatile int i = 0; i < 1; ) {} }
'''
N = 64 * 1024
device = _core.open("cpu")
memory = np.frombuffer(mmap.mmap(-1, 4 * N), np.float32)
library = device.compile(SOURCE, filename="turn.metal")
sizes = dict(threads_in_grid=N, threads=64)
program = _core.Dispatch(library.pipeline("turn"), {"x": memory}, **sizes)
endless = _core.Dispatch(library.pipeline("wander"), {"x": memory}, threads_in_grid=1, threads=1)
memory[:] = np.arange(N)
held = seal()
if not held.mechanisms:
    print("; ".join(held.missing))
    os._exit(77)
AFTER
print("went on")
os._exit(0)
"""
RUNS = """
device.run([program])
assert np.array_equal(memory.reshape(-1, 64), np.arange(N).reshape(-1, 64)[:, ::-1])
try:
    device.run([endless], time_limit=0.05)
except _core.TimeLimitExceeded:
    print("a hang was ended")
made = []
thread = threading.Thread(target=lambda: made.append(np.ones(1 << 24).sum()))
thread.start()
thread.join()
assert made == [1 << 24]
"""


@pytest.fixture(autouse=True)
def a_kernel_is_loaded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable vectors, which would be loaded at the first launch of each shape."""
    monkeypatch.setenv("METALBENCH_ENGINE", "fibers")


def run(after: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.replace("AFTER", after)
    command = [sys.executable, "-u", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip(done.stdout)
    return done


def test_a_sealed_process_can_use_kernels_threads_and_memory() -> None:
    done = run(RUNS)
    assert (done.returncode, done.stdout) == (0, "a hang was ended\nwent on\n"), done.stderr


@pytest.mark.parametrize(
    ("attempt", "error"),
    [
        ("open('/etc/hosts')", "PermissionError"),
        ("import cProfile", "ModuleNotFoundError"),
        ("mmap.mmap(-1, 4096, prot=mmap.PROT_EXEC)", "PermissionError"),
        ("library.pipeline('turn')", "Error"),
        ("os.listdir('/')", "PermissionError"),
    ],
)
def test_system_calls_that_libraries_try_fail_without_a_kill(attempt: str, error: str) -> None:
    done = run(attempt)
    assert done.returncode == 1, done.stderr
    assert error in done.stderr
    assert "went on" not in done.stdout


def test_find_cache_folder_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder, the loaded module that knows the user's folder is asked again."""
    monkeypatch.delenv("METALBENCH_CACHE", raising=False)
    done = run("from metalbench import build_cache; print(build_cache.find_cache_folder())")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("attempt", "call"),
    [
        ("os.fork()", "clone"),
        ("os.execv('/bin/true', ['true'])", "execve"),
        ("os.kill(os.getppid(), 0)", "kill"),
        ("import socket; socket.socket()", "socket"),
        ("threading.Thread(target=os.setsid).start(); threading.Event().wait(60)", "setsid"),
    ],
)
def test_other_forbidden_system_calls_kill_the_process_and_are_reported(
    attempt: str, call: str
) -> None:
    done = run(attempt.replace("import socket; ", "import _socket as socket; "))
    assert (done.returncode, parse_refused_call(done.stderr)) == (-31, call), done.stderr
    assert "went on" not in done.stdout


def test_the_seal_holds_for_existing_threads() -> None:
    before = (
        "go = threading.Event(); "
        "held_up = threading.Thread(target=lambda: (go.wait(), os.setsid()))"
    )
    program = PROGRAM.replace("held = seal()", f"{before}; held_up.start(); held = seal()")
    command = [sys.executable, "-u", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}"]
    command[-1] = command[-1].replace("AFTER", "go.set(); held_up.join()")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, parse_refused_call(done.stderr)) == (-31, "setsid"), done.stderr


def test_kernels_run_without_confinement_if_the_system_has_none() -> None:
    lacking = """
from metalbench.errors import Unsupported
from metalbench.sandbox import landlock, privileges, seccomp
from metalbench.sandbox.confinement import confine, list_executor_files
def nothing(*_, **__):
    raise Unsupported("seccomp: Function not implemented")
seccomp.install_filter, landlock.version = nothing, lambda: 0
privileges.isolate_network = lambda: ""
assert confine(os.pipe()[0], os.getppid(), list_executor_files()) == ""
N = 64"""
    program = PROGRAM.replace("N = 64", lacking, 1).replace("if not held.mechanisms:", "if False:")
    after = f"{RUNS}print(held.mechanisms, held.missing)"
    command = [sys.executable, "-u", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}"]
    command[-1] = command[-1].replace("AFTER", after)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "[] ['seccomp: Function not implemented']" in done.stdout


def test_compiled_code_is_loaded_although_no_other_file_can_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not landlock.version():
        pytest.skip("this kernel has no Landlock")
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path))
    assert run("pass").returncode == 0
    confined = """
from metalbench.sandbox.confinement import confine, list_executor_files
confine(os.pipe()[0], os.getppid(), list_executor_files())
for refused in ("/etc/hosts", "/root", os.environ["METALBENCH_CACHE"] + "/new"):
    try:
        os.open(refused, os.O_CREAT | os.O_WRONLY if refused.endswith("new") else os.O_RDONLY)
    except PermissionError:
        continue
    print("opened", refused)
N = 64"""
    program = PROGRAM.replace("N = 64", confined, 1).replace("AFTER", RUNS)
    command = [sys.executable, "-u", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "a hang was ended\nwent on\n"), done.stderr
