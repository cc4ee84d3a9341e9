"""The system's ssh, with its configuration, keys and agent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection, Pipe
from typing import IO

from metalbench.foreign_text import terminal_text
from metalbench.remote.address import Address
from metalbench.remote.failures import RemoteError

LAST_WORDS_BYTES = 4000
SECONDS_TO_END = 5.0
# A terminal's Ctrl-C reaches all of its processes, and ssh is not to die of it before we have
# noticed: an ignored signal stays so in what is executed, and at its own prompts ssh heeds it.
_DEAF = 'trap "" INT; exec "$@"'


def command_line(address: Address, script: str) -> list[str]:
    """The command that runs `script` there; it asks for nothing where there is no terminal.

    Raises RemoteError where there is no ssh.
    """
    ssh = shutil.which("ssh")
    if ssh is None:
        raise RemoteError("[on] there is no `ssh` on the path; install OpenSSH's client")
    prompts = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    quiet = [] if prompts else ["-o", "BatchMode=yes"]
    return [ssh, "-T", *quiet, *address.ssh_arguments, script]


class Ssh:
    """A script on another machine; `connection` is its standard input and output."""

    def __init__(self, address: Address, script: str) -> None:
        command = command_line(address, script)
        self.connection, theirs = Pipe()
        self._words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as we
        self._printed_bytes = 0
        self._last_words = ""
        with theirs:
            self._child = subprocess.Popen(
                ["sh", "-c", _DEAF, "sh", *command],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._words,
            )

    def read_byte(self) -> bytes:
        """Wait for bytes that are no message yet; empty at the end."""
        return _read(self.connection)

    def end(self) -> None:
        """Hang up, which ends what runs there, and wait until ssh has ended."""
        if not self.connection.closed:
            self.connection.close()
        try:
            self._child.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        if not self._words.closed:
            self._last_words = self.read_output_tail()
            self._words.close()

    def read_output_tail(self) -> str:
        """What ssh, and the other side, said last on standard error."""
        if self._words.closed:
            return self._last_words
        start = max(0, self._said_bytes - LAST_WORDS_BYTES)
        return self._said_since(start).decode(errors="replace").strip()

    def print_output(self) -> None:
        """Print what was said on standard error since this was last called."""
        said = self._said_since(self._printed_bytes)
        self._printed_bytes += len(said)
        if said.strip():
            print(
                terminal_text(said.decode(errors="replace").rstrip()), file=sys.stderr, flush=True
            )

    @property
    def _said_bytes(self) -> int:
        return os.fstat(self._words.fileno()).st_size

    def _said_since(self, start: int) -> bytes:
        # The file's position is ssh's, which writes there.
        return os.pread(self._words.fileno(), self._said_bytes - start, start)


def _read(connection: Connection) -> bytes:
    try:
        return os.read(connection.fileno(), 1)
    except OSError:
        return b""
