"""A process has no network, by a namespace or by a filter of system calls."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

TRY = """
import os, socket, sys
from metalbench.errors import Unsupported
from metalbench.sandbox import confinement, privileges, seccomp
port, means = int(sys.argv[1]), sys.argv[2]
try:
    if sys.platform == "darwin":
        confinement.enter_sandbox(confinement.WORKER_PROFILE)
    elif means == "namespace":
        assert privileges.isolate_network() or sys.exit(77)
    else:
        seccomp.install_filter(*seccomp.make_worker_policy(os.getppid()), every_thread=False)
except Unsupported as error:
    sys.exit(77)
left, right = socket.socketpair()
left.sendall(b"local")
assert right.recv(5) == b"local"
try:
    socket.create_connection(("127.0.0.1", port), 5)
except OSError as error:
    print(error)
else:
    print("connected")
"""


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        number = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", number), 5).close()
        yield number


@pytest.mark.parametrize(
    ("means", "error"), [("namespace", "unreachable"), ("filter", "[Errno 13] Permission denied")]
)
def test_no_connection_leaves_the_process(port: int, means: str, error: str) -> None:
    command = [sys.executable, "-c", TRY, str(port), means]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 77:
        pytest.skip(f"this system does not allow a {means}")
    assert done.returncode == 0, done.stderr
    assert error in done.stdout if sys.platform == "linux" else "connected" not in done.stdout
