"""Fork workers from a process that has imported what all of them need.

A worker imports NumPy, SciPy, MLX and this package, which takes longer than most of its checks.
The fork server is a fresh interpreter that imports them once. It never runs a kernel, a task or an
operation of MLX, and has one thread whenever it forks, so a fork of it is as good as a fresh
interpreter. Metal does not survive a fork, and MLX for CUDA opens a GPU when it is imported, so
other devices start interpreters.

The server leads a session, and ends with the other end of its socket. It is the parent of the
workers. A request is a length, JSON of that length, and descriptors. One of these is a socket, over
which the server sends the ID of the new process and then its exit status. The server releases the
ID of an ended process only when the other end of that socket is closed, so that a signal cannot
reach another process.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_LENGTH = struct.Struct("<I")
_DESCRIPTORS = 4
# Variables that every worker has a value of.
_OF_EACH_WORKER = ("TMPDIR", "METALBENCH_CACHE")


@dataclass(frozen=True)
class Preload:
    """Modules to import before the first fork, and `later` ones before the second.

    A run of one kernel does not wait for the later ones.
    """

    modules: tuple[str, ...]
    later: tuple[str, ...] = ()


class ForkedProcess:
    """A process that a fork server starts, with the interface of `subprocess.Popen`."""

    def __init__(self, server: ForkServer, status: socket.socket) -> None:
        self._server = server  # lives as long as its processes
        self._status = status
        self._text = b""
        self._pid: int | None = None
        self.returncode: int | None = None

    @property
    def pid(self) -> int:
        """The process ID. Waits until the server has forked; 0 if it could not."""
        if self._pid is None:
            line = self._read_line(None)
            self._pid = int(line or 0)
            if not line:
                self.returncode = 1
        return self._pid

    def poll(self) -> int | None:
        """Return the exit status, negative for a signal; None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status; raises TimeoutExpired."""
        _ = self.pid
        if self.returncode is None:
            line = self._read_line(timeout)
            # Without a status the server has ended, and its workers with it.
            self.returncode = int(line) if line else -int(signal.SIGKILL)
        return self.returncode

    def kill(self) -> None:
        """Send SIGKILL."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Release the process ID of a process that has ended."""
        self._status.close()

    def _read_line(self, timeout: float | None) -> bytes:
        """Return the next line from the server, empty at the end; raises TimeoutExpired."""
        while b"\n" not in self._text:
            self._status.settimeout(timeout or (None if timeout is None else 1e-3))
            try:
                more = self._status.recv(64)
            except TimeoutError:
                raise subprocess.TimeoutExpired(f"process {self._pid}", timeout or 0.0) from None
            except OSError:
                more = b""
            if not more:
                return b""
            self._text += more
        line, _, self._text = self._text.partition(b"\n")
        return line


class ForkServer:
    """A fork server, whose process starts with this object and ends with it."""

    def __init__(
        self, preload: Preload, *, folders: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        program = (
            f"import sys; sys.path[:] = {list(folders)!r}; from {__name__} import serve, Preload"
            f"; serve({theirs.fileno()}, {preload!r})"
        )
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-u", "-c", program],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                # Each worker has a file for its words, and so has an import that fails.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        finally:
            theirs.close()
        weakref.finalize(self, _end, self._socket, self._child)

    @property
    def number(self) -> int:
        """The process ID of the server."""
        return self._child.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process of the server has ended."""
        # It never sends anything, so that its socket is readable at the end only. A process that is
        # killed closes its files first.
        return bool(select.select([self._socket], [], [], 0)[0])

    def start(
        self,
        worker: str,
        device: str,
        environment: Mapping[str, str],
        *,
        channel: int,
        lifeline: int,
        output: int,
    ) -> ForkedProcess:
        """Start a worker, which leads a session: `work` of the module `worker`.

        `channel` and `lifeline` are descriptors for it, `output` is the file of its words. Does not
        wait for the server: if that fails, the process has ended.
        """
        ours, theirs = socket.socketpair()
        text = json.dumps([worker, device, dict(environment), os.getcwd()]).encode()
        descriptors = array.array("i", (channel, lifeline, output, theirs.fileno()))
        # Without a server the other end of the status is closed, which says that it has ended.
        with theirs, self._lock, suppress(OSError):
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
            self._socket.sendmsg([_LENGTH.pack(len(text))], rights)
            self._socket.sendall(text)
        return ForkedProcess(self, ours)


def _end(end: socket.socket, child: subprocess.Popen[bytes]) -> None:
    end.close()
    # Without the socket the server ends by itself, so Ctrl-C need not wait for it.
    with suppress(KeyboardInterrupt):
        child.wait()


# The server's process.


@dataclass
class _Worker:
    """A child of the server, and the socket for its ID and its exit status."""

    number: int
    status: socket.socket
    has_ended: bool = False

    def report_end(self) -> None:
        """Send the exit status if the process has ended, and leave its ID occupied."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        found = None if self.has_ended else os.waitid(os.P_PID, self.number, options)
        if found is None:
            return
        self.has_ended = True
        code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        with suppress(OSError):
            self.status.sendall(b"%d\n" % code)


def serve(descriptor: int, preload: Preload) -> None:
    """Fork a worker for each request. In a worker this does what the worker's program does."""
    end = socket.socket(fileno=descriptor)
    # A child that ends makes this pipe readable.
    signals, wake = os.pipe()
    for each in (signals, wake):
        os.set_blocking(each, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    waiting = [preload.modules, preload.later]
    workers: dict[int, _Worker] = {}
    while True:
        ready, _, _ = select.select([descriptor, signals, *workers], [], [])
        if signals in ready:
            os.read(signals, 4096)
            for worker in workers.values():
                worker.report_end()
        for each in set(ready) & set(workers):
            # The other end is closed: the process has been killed, or its handle was dropped.
            worker = workers.pop(each)
            worker.status.close()
            with suppress(ProcessLookupError):
                os.kill(worker.number, signal.SIGKILL)
            os.waitpid(worker.number, 0)
        if descriptor not in ready:
            continue
        try:
            request, descriptors = _receive_request(end)
        except (EOFError, OSError):
            return
        if waiting:
            # If an import fails, its traceback is the last words of this worker.
            os.dup2(descriptors[2], 2)
            for module in waiting.pop(0):
                importlib.import_module(module)
        parent = os.getpid()
        # What exists now is shared, and the collections of a worker leave it out.
        gc.freeze()
        number = os.fork()
        if number == 0:
            # The descriptors of these objects are closed below, and may be others' afterwards.
            for held in (end, *(worker.status for worker in workers.values())):
                held.detach()
            _become_worker(request, descriptors, parent)
            return
        *theirs, status = descriptors
        for each in theirs:
            os.close(each)
        worker = _Worker(number, socket.socket(fileno=status))
        with suppress(OSError):
            worker.status.sendall(b"%d\n" % number)
        workers[status] = worker


def _receive_request(end: socket.socket) -> tuple[list[Any], list[int]]:
    """Return a request with its descriptors; raises EOFError at the end of the stream."""
    descriptors = array.array("i")
    room = socket.CMSG_SPACE(_DESCRIPTORS * descriptors.itemsize)
    head, ancillary, _, _ = end.recvmsg(_LENGTH.size, room)
    for _, _, data in ancillary:
        descriptors.frombytes(data)
    head += _receive(end, _LENGTH.size - len(head))
    return json.loads(_receive(end, *_LENGTH.unpack(head))), list(descriptors)


def _receive(end: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = end.recv(size - len(found))
        if not more:
            raise EOFError("the other end is closed")
        found += more
    return found


def _become_worker(request: list[Any], descriptors: list[int], parent: int) -> None:
    """Run the program of a worker, as a fresh interpreter would."""
    worker, device, environment, folder = request
    channel, lifeline, output, _ = descriptors
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    for stream in (1, 2):
        os.dup2(output, stream)
    # Sockets and pipes of the server and of other workers must not remain open in this one.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in (channel, lifeline):
            with suppress(OSError):
                os.close(int(name))
    for each in (channel, lifeline):
        os.set_inheritable(each, False)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # which is found by the environment
    os.chdir(folder)
    importlib.import_module(worker).work(channel, lifeline, parent, device)


# One server for each process and environment.


_servers: dict[int, tuple[object, ForkServer]] = {}
_servers_lock = threading.Lock()


def get_fork_server(
    preload: Preload, *, folders: Sequence[str], environment: Mapping[str, str]
) -> ForkServer:
    """Return the fork server of this process, started anew if its environment has changed.

    Libraries read variables such as OPENBLAS_NUM_THREADS when they are imported.
    """
    common = {name: text for name, text in environment.items() if name not in _OF_EACH_WORKER}
    key = (preload, tuple(folders), tuple(sorted(common.items())))
    with _servers_lock:
        known, server = _servers.get(os.getpid(), (None, None))
        if server is None or known != key or server.has_ended:
            # An old one ends with the last of its workers.
            server = ForkServer(preload, folders=folders, environment=environment)
            _servers[os.getpid()] = key, server
        return server
