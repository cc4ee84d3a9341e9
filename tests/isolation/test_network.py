"""A kernel's process has no network, in each of the ways in which that can be had."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

TRY = """
import socket, sys
from metalbench.isolation import network
if "filter" in sys.argv:
    network.CLONE_NEWNET = 1  # No such flag: as where namespaces are not allowed.
means = network.cut_off()
left, right = socket.socketpair()
left.sendall(b"local")
assert right.recv(5) == b"local"
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
except OSError as error:
    print(means, "|", error)
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


def tried(port: int, *arguments: str) -> str:
    command = [sys.executable, "-c", TRY, str(port), *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if "Unsupported" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_connection_leaves_the_process(port: int) -> None:
    assert "connected" not in tried(port)


@pytest.mark.skipif(sys.platform != "linux", reason="filters of system calls are Linux's")
def test_a_filter_does_where_namespaces_are_not_allowed(port: int) -> None:
    assert tried(port, "filter").startswith("a filter of system calls | [Errno 13]")


def test_a_kernel_cannot_phone(runs: Any, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_PORT", str(port))
    tried(port)
    (result,) = runs("phones")
    assert any(
        word in result.failures[0].message for word in ("unreachable", "denied", "permitted")
    )
