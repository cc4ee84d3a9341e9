"""Another machine: this one, over a real sshd on the loopback address."""

from __future__ import annotations

import getpass
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from metalbench.build_cache import find_cache_folder as cache_folder

SECONDS = 120.0
SSHD_CONFIG = """
ListenAddress 127.0.0.1
Port {port}
HostKey {place}/host_key
AuthorizedKeysFile {place}/authorized_keys
PidFile {place}/sshd.pid
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv {variables}
"""
SSH_CONFIG = """
Host mac refused
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {place}/%n_key
  IdentitiesOnly yes
  UserKnownHostsFile {place}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
Host unreachable
  HostName 127.0.0.1
  Port {nothing}
"""
TASK = '''
"""Twice the input."""

import os
from metalbench.task import normal, output, task

def behave():
    BEHAVIOUR

@task(
    sizes=dict(small=dict(n=100), seed=dict(n=2048)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: (behave(), 2 * x)[1],
    flops="n",
    baseline="x + x",
)
def NAME(x):
    return x + x
'''
KERNEL = """// Twice the input.
// dispatch: twice threads_in_grid=(n) threads=(TG)
// tune: TG = 64, 256
#include <metal_stdlib>
#include "twice.h"
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = FACTOR * x[i];
}
"""
# Says that it has begun, and then never ends; so long as it lives the pipe is open.
HANGS = """fifo = open(os.environ["TEST_FIFO"], "w")
    print("begun", file=fifo, flush=True)
    while True: pass"""
TASKS = {"twice": ("pass", "2"), "thrice": ("pass", "3"), "hangs": (HANGS, "2")}


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _program(name: str) -> str:
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    found = shutil.which(name, path=path)
    if found is None and os.getuid() == 0 and shutil.which("apt-get"):
        command = ["apt-get", "install", "-qq", "-y", "openssh-server", "openssh-client"]
        subprocess.run(command, capture_output=True, check=False)
        found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"there is no {name}, and it cannot be installed; install OpenSSH's server")
    return found


@dataclass(frozen=True)
class Machine:
    """The other machine: its home folder, its sshd, and a pipe that its processes hold open."""

    home: Path
    daemon: subprocess.Popen[str]
    fifo: int

    @property
    def metalbench(self) -> Path:
        """Return a replacement for the command of the virtual environment."""
        return self.home / ".metalbench" / "on" / "bin" / "metalbench"

    def has(self, script: str) -> None:
        """Let its metalbench be a shell script."""
        self.metalbench.parent.mkdir(parents=True, exist_ok=True)
        self.metalbench.write_text(f"#!/bin/sh\n{script}\n")
        self.metalbench.chmod(0o755)

    def wait_until_begun(self) -> None:
        """Return when a task there says that it has begun."""
        assert self._read() == b"begun\n"

    def wait_until_nothing_runs(self) -> None:
        """Return when the last process there that held the pipe is gone, and left no file."""
        assert self._read() == b""
        assert list(self.home.parent.glob("metalbench-on-*")) == []

    def _read(self) -> bytes:
        ready, _, _ = select.select([self.fifo], [], [], SECONDS)
        assert ready, "what runs there has neither begun nor ended"
        return os.read(self.fifo, 100)

    def drop_connections(self) -> None:
        """Kill those processes of sshd's that serve connections, as if the line were cut."""
        listed = ["ps", "-eo", "pid=,ppid=,comm="]
        lines = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
        rows = [line.split(None, 2) for line in lines.splitlines()]
        found = [self.daemon.pid]
        for each in found:
            found += [int(pid) for pid, parent, _ in rows if int(parent) == each]
        names = {int(pid): Path(name).name for pid, _, name in rows}
        for number in found[1:]:
            if names[number].startswith("sshd"):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)


def _key(path: Path) -> str:
    command = [_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path.with_name(f"{path.name}.pub").read_text()


def _fifo(place: Path) -> Path:
    """The pipe that tasks write to, in the one folder that all workers may write to."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    return cache_folder() / f"{place.name}-{os.getpid()}.fifo"


def _configured(place: Path, port: int) -> None:
    """Keys and configuration of both sides; ssh reads none but these."""
    (place / "home").mkdir()
    host, known = _key(place / "host_key"), _key(place / "mac_key")
    _key(place / "refused_key")
    (place / "authorized_keys").write_text(known)
    (place / "known_hosts").write_text(f"[127.0.0.1]:{port} {host}")
    there = {
        "HOME": place / "home",
        "METALBENCH_CACHE": cache_folder(),
        "PATH": f"{place / 'there'}:/usr/bin:/bin",
        "TEST_FIFO": _fifo(place),
        "TMPDIR": place,
    }
    variables = " ".join(f"{name}={value}" for name, value in there.items())
    text = SSHD_CONFIG.format(place=place, port=port, variables=variables)
    (place / "sshd_config").write_text(text)
    names = {"place": place, "port": port, "user": getpass.getuser(), "nothing": _free_port()}
    (place / "ssh_config").write_text(SSH_CONFIG.format(**names))
    (place / "there").mkdir()
    (place / "bin").mkdir()
    ssh = place / "bin" / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {_program("ssh")} -F {place}/ssh_config "$@"\n')
    ssh.chmod(0o755)


@pytest.fixture(scope="module")
def daemon(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """An sshd of our own, and the folder with its keys and configuration."""
    sshd, place = _program("sshd"), tmp_path_factory.mktemp("sshd")
    if os.getuid() == 0:
        # Where a system's own sshd separates privileges.
        Path("/run/sshd").mkdir(parents=True, exist_ok=True)
    _configured(place, _free_port())
    os.mkfifo(_fifo(place))
    command = [sshd, "-D", "-e", "-f", str(place / "sshd_config")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        assert started.stderr is not None
        said = ""
        while "Server listening" not in said:
            line = started.stderr.readline()
            said += line
            if not line:
                pytest.skip(f"sshd does not start here: {said}")
        yield place, started
        started.terminate()
    _fifo(place).unlink()


@pytest.fixture
def machine(
    daemon: tuple[Path, subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Machine]:
    """The other machine as `ssh://mac`, with the metalbench that is tested."""
    place, started = daemon
    monkeypatch.setenv("PATH", f"{place / 'bin'}:{os.environ['PATH']}")
    fifo = os.open(_fifo(place), os.O_RDONLY | os.O_NONBLOCK)
    home = place / "home"
    made = Machine(home, started, fifo)
    made.has(f'exec 9> "$TEST_FIFO"; exec {sys.executable} -m metalbench "$@"')
    yield made
    os.close(fifo)
    shutil.rmtree(home / ".metalbench", ignore_errors=True)


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    """A folder with the kernels twice (right), thrice (wrong) and hangs (for ever)."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "twice.h").write_text("// Of the kernels next to it.\n")
    for name, (behaviour, factor) in TASKS.items():
        text = TASK.replace("BEHAVIOUR", behaviour).replace("NAME", name)
        (folder / f"{name}.py").write_text(text)
        (folder / f"{name}.metal").write_text(KERNEL.replace("FACTOR", factor))
    return folder
