"""The fork server starts workers that are as good as fresh interpreters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from metalbench.sandbox.fork_server import ForkServer, Preload, get_fork_server
from metalbench.sandbox.process import Process, list_import_folders

if sys.platform != "linux":
    pytest.skip("other systems fork no workers", allow_module_level=True)

WORKER = """
    import json, os, signal, sys, threading
    from multiprocessing.connection import Connection

    def work(channel, lifeline, parent, device):
        connection = Connection(channel)
        threading.Thread(target=lambda: (os.read(lifeline, 1), os._exit(9)), daemon=True).start()
        state = {
            "threads": len(os.listdir("/proc/self/task")) - 1,
            "leads": os.getsid(0) == os.getpid() == os.getpgid(0),
            "parent": os.getppid() == parent,
            "device": device,
            "variable": os.environ.get("OF_TEST"),
            "folder": os.getcwd(),
            "temporary": __import__("tempfile").gettempdir(),
            "open": sorted(os.readlink(f"/proc/self/fd/{each}").partition(":")[0]
                           for each in os.listdir("/proc/self/fd")
                           if int(each) > 2 and os.path.lexists(f"/proc/self/fd/{each}")),
            "loaded": "scipy.special" in sys.modules,
        }
        connection.send_bytes(json.dumps(state).encode())
        while True:
            text = connection.recv_bytes().decode()
            if text == "end":
                print("said goodbye")
                return
            if text == "raise":
                raise ValueError("a fault of the worker")
            if text.startswith("exit"):
                os._exit(int(text.split()[1]))
            if text.startswith("signal"):
                os.kill(os.getpid(), int(text.split()[1]))
            connection.send_bytes(text.encode())
"""

Start = Callable[[], "Process[Connection]"]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start workers that run WORKER; end them afterwards."""
    (tmp_path / "worker_of_test.py").write_text(textwrap.dedent(WORKER))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    started: list[Process[Connection]] = []

    def begin() -> Process[Connection]:
        preload = Preload(("numpy", "worker_of_test"), ("scipy.special",))
        found = Process("any", worker="worker_of_test", channel=lambda end: end, preload=preload)
        started.append(found)
        return found

    yield begin
    for each in started:
        if each._lifeline is not None:
            each.end()


def read_state(process: Process[Connection]) -> dict[str, Any]:
    import json

    state: dict[str, Any] = json.loads(process.channel.recv_bytes())
    return state


def test_a_forked_worker_is_like_a_fresh_interpreter(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_TEST", "a value")
    first, second = start(), start()
    for each, is_later in ((first, False), (second, True)):
        state = read_state(each)
        assert state["threads"] == 1
        assert state["leads"]
        assert state["parent"]
        assert state["device"] == "any"
        assert state["variable"] == "a value"
        assert state["folder"] == os.getcwd()
        assert state["temporary"] == str(each._scratch.path)
        # Its channel and its lifeline, and nothing of the server or of the other worker.
        assert [kind for kind in state["open"] if kind in ("socket", "pipe")] == ["pipe", "socket"]
        assert state["loaded"] is is_later
    assert first.number != second.number


def test_a_worker_has_the_folder_and_variables_of_its_start(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_state(start())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "other"))
    monkeypatch.setenv("OF_TEST", "changed")
    state = read_state(start())
    assert (state["folder"], state["variable"]) == (str(tmp_path), "changed")


@pytest.mark.parametrize(
    ("request_text", "code", "words"),
    [
        ("end", 0, "said goodbye"),
        ("exit 7", 7, ""),
        ("raise", 1, "a fault of the worker"),
        (f"signal {int(signal.SIGABRT)}", -signal.SIGABRT, ""),
        (f"signal {int(signal.SIGKILL)}", -signal.SIGKILL, ""),
    ],
)
def test_the_end_of_a_worker_is_reported(
    start: Start, request_text: str, code: int, words: str
) -> None:
    process = start()
    read_state(process)
    assert process._child.poll() is None
    process.channel.send_bytes(request_text.encode())
    assert process.wait_for_exit() == code
    assert words in process.read_output_tail()
    # The ID is not given to another process before the handle is closed.
    assert Path(f"/proc/{process.number}").exists()
    process.end()
    wait_until(lambda: not Path(f"/proc/{process.number}").exists())


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_paused_worker_continues(start: Start) -> None:
    process = start()
    read_state(process)
    process.pause()
    wait_until(lambda: read_status(process.number) == "T")
    process.channel.send_bytes(b"something")
    assert not process.channel.poll(0.1)
    process.resume()
    assert process.channel.recv_bytes() == b"something"


def read_status(number: int) -> str:
    return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_killed_worker_leaves_the_others(start: Start) -> None:
    first, second = start(), start()
    read_state(first), read_state(second)
    first.end()
    second.channel.send_bytes(b"something")
    assert second.channel.recv_bytes() == b"something"


def test_an_import_that_fails_is_among_the_last_words(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worker_of_test.py").write_text("raise ImportError('no such library')\n")
    monkeypatch.setenv("OF_TEST", "another server")
    process = start()
    assert process.wait_for_exit() == 1
    assert "no such library" in process.read_output_tail()
    # No process group may be killed for a process that never was: 0 would be that of this one.
    process.pause()
    process.end()


def test_workers_end_with_the_server(start: Start) -> None:
    process = start()
    read_state(process)
    os.kill(process._child._server.number, signal.SIGKILL)  # type: ignore[union-attr]
    assert process.wait_for_exit() < 0
    # And the next worker has another server.
    process = start()
    assert read_state(process)["parent"]


def test_the_server_ends_with_the_run(tmp_path: Path) -> None:
    program = f"""
        import os, sys
        sys.path[:] = {sys.path!r}
        from metalbench.sandbox.fork_server import Preload
        from metalbench.sandbox.process import Process
        process = Process("", worker="worker_of_test", channel=lambda end: end,
                          preload=Preload(("json",)))
        process.channel.recv_bytes()
        print(process.number, process._child._server.number, flush=True)
        os.kill(os.getpid(), 9)
    """
    (tmp_path / "worker_of_test.py").write_text(textwrap.dedent(WORKER))
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
    )
    for number in map(int, run.stdout.split()):
        wait_until(lambda number=number: not is_alive(number))  # type: ignore[misc]


def is_alive(number: int) -> bool:
    try:
        return read_status(number) != "Z"
    except OSError:
        return False


def test_one_server_serves_an_environment() -> None:
    preload = Preload(("json",))
    options = {"folders": list_import_folders(), "environment": {"A": "1", "TMPDIR": "/tmp"}}
    first = get_fork_server(preload, **options)
    other_folder = {**options, "environment": {"A": "1", "TMPDIR": "/var/tmp"}}
    assert get_fork_server(preload, **other_folder) is first
    other_value = {**options, "environment": {"A": "2"}}
    second = get_fork_server(preload, **other_value)
    assert second is not first
    number = first.number
    del first
    wait_until(lambda: not is_alive(number))
    assert isinstance(second, ForkServer)
    assert not second.has_ended


def test_a_forked_worker_cannot_signal_the_run_or_the_server() -> None:
    program = f"""
        import os, sys
        sys.path[:] = {sys.path!r}
        from metalbench.sandbox.confinement import confine
        from multiprocessing.connection import Connection
        def work(channel, lifeline, parent, device):
            confine(lifeline, parent)
            refused = []
            run = int(open(f"/proc/{{parent}}/stat").read().rpartition(")")[2].split()[1])
            for each in (parent, run):
                try:
                    os.kill(each, 0)
                except PermissionError:
                    refused.append(each == run)
            Connection(channel).send_bytes(repr(refused).encode())
            os.read(lifeline, 1)
    """
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "worker_that_signals.py").write_text(textwrap.dedent(program))
        sys.path.insert(0, folder)
        try:
            process: Process[Connection] = Process(
                "", worker="worker_that_signals", channel=lambda end: end, preload=Preload(())
            )
        finally:
            sys.path.remove(folder)
        try:
            assert process.channel.recv_bytes() == b"[False, True]"
        finally:
            process.end()
