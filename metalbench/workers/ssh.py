"""Connect to another machine by ssh: addresses ssh://[USER@]HOST[:PORT][/FOLDER] of ``--on``."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe
from typing import IO

from metalbench.errors import DeclarationError, MachineError
from metalbench.safe_text import terminal_text

FORM = "ssh://[USER@]HOST[:PORT][/FOLDER]"
DEFAULT_FOLDER = "~/.metalbench/on"
# No name may begin with a dash, which ssh would read as an option.
_ADDRESS = re.compile(
    r"ssh://(?:(?P<user>[\w.][\w.+-]*)@)?(?P<host>[A-Za-z0-9_][\w.-]*|\[[0-9A-Fa-f:.]+(?:%\w+)?\])"
    r"(?::(?P<port>\d{1,5}))?(?P<folder>/.*)?"
)


@dataclass(frozen=True)
class Address:
    """A machine, and the folder there that has metalbench's virtual environment.

    `host` may be a name that the user's ssh_config explains. `folder` "" is `DEFAULT_FOLDER`, or
    whatever `metalbench` is on the path there; one that begins with ~/ is in the home folder.
    """

    host: str
    user: str = ""
    port: int | None = None
    folder: str = ""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read an address; raises DeclarationError, with the form, for what is none."""
        found = _ADDRESS.fullmatch(text)
        port = int(found["port"]) if found and found["port"] else None
        if found is None or (port is not None and not 0 < port < 2**16):
            raise DeclarationError(f"expected {FORM}, such as ssh://mac.local, got {text}")
        folder = (found["folder"] or "").rstrip("/")
        if folder.startswith("/~/"):
            folder = folder[1:]
        if any(not each.isprintable() for each in folder) or folder == "/~":
            raise DeclarationError(f"expected the path of a folder after the host, got {text}")
        return cls(found["host"].strip("[]"), found["user"] or "", port, folder)

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port else ""
        inside = f"/{self.folder}" if self.folder.startswith("~") else self.folder
        return f"ssh://{user}{host}{port}{inside}"

    @property
    def ssh_arguments(self) -> list[str]:
        """The arguments of ssh for this address, the host last."""
        port = ["-p", str(self.port)] if self.port else []
        user = ["-l", self.user] if self.user else []
        return [*port, *user, "--", self.host]

    @property
    def shell_folder(self) -> str:
        """The folder as a word of the other machine's shell."""
        folder = self.folder or DEFAULT_FOLDER
        if folder.startswith("~/"):
            return '"$HOME"/' + shlex.quote(folder[2:])
        return shlex.quote(folder)


# Errors that keep kernels from being measured on another machine. None is a kernel's fault.


class RemoteError(MachineError):
    """The other machine cannot be reached, or cannot do what is asked of it."""


class VersionError(RemoteError):
    """The other machine has no metalbench, or not the same as this one; installing it helps."""


class ConnectionLostError(RemoteError):
    """The connection broke in the middle; what had come back is kept."""


# Commands for the shell of the other machine, in POSIX syntax.

NOTHING_THERE = "metalbench-not-installed"
ANOTHER_THERE = "metalbench-of-another-kind"
# Folders of newer Python versions on a Mac. They are not on the PATH of an ssh login shell.
PYTHON_FOLDERS = ("/opt/homebrew/bin", "/usr/local/bin")
PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3.10", "python3")
NO_PYTHON = 3
NOT_OURS = 4


def make_serve_script(address: Address, variables: Mapping[str, str]) -> str:
    """Start `metalbench serve`, or report that it is missing or of another version.

    While it runs, a Mac without user input does not fall asleep.
    """
    env = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    elsewhere = "" if address.folder else 'if [ ! -x "$m" ]; then m=$(command -v metalbench); fi; '
    return _as_one_word(
        f"m={address.shell_folder}/bin/metalbench; {elsewhere}"
        f'if [ -z "$m" ] || [ ! -x "$m" ]; then echo {NOTHING_THERE}; exit; fi; '
        "c=; if command -v caffeinate > /dev/null; then c='caffeinate -i'; fi; "
        f'env {env} $c "$m" serve || echo {ANOTHER_THERE} "$m": $("$m" --version 2>&1 | tail -n 1)'
    )


def make_install_script(address: Address, archive: str) -> str:
    """Read an archive of the sources from standard input, and install it into the folder.

    The folder becomes a virtual environment if it is none yet. Exit codes: `NO_PYTHON` where none
    is new enough, `NOT_OURS` of a folder that holds something else.
    """
    path = ":".join(PYTHON_FOLDERS)
    new_enough = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"
    quoted = shlex.quote(new_enough)
    return _as_one_word(
        f"f={address.shell_folder}; PATH=$PATH:{path}; "
        't=$(mktemp -d) || exit 1; trap "rm -rf \\"$t\\"" EXIT; '
        f'cat > "$t"/{shlex.quote(archive)} || exit 1; '
        'if [ ! -x "$f"/bin/python ]; then '
        f'if [ -n "$(ls -A "$f" 2>/dev/null)" ]; then exit {NOT_OURS}; fi; '
        f"p=; for each in {' '.join(PYTHONS)}; do "
        f'if "$each" -c {quoted} 2>/dev/null; then p=$each; break; fi; done; '
        f'if [ -z "$p" ]; then exit {NO_PYTHON}; fi; '
        'mkdir -p "$f" && "$p" -m venv "$f" || exit 1; fi; '
        f'b="$f"/bin/python; "$b" -m pip wheel -q --no-deps -w "$t" "$t"/{shlex.quote(archive)} && '
        '"$b" -m pip install -q "$t"/*.whl && '
        # The same version may be there already, made of other sources.
        '"$b" -m pip install -q --no-deps --force-reinstall "$t"/*.whl'
    )


def _as_one_word(script: str) -> str:
    """The script for whatever shell the account has."""
    return f"exec sh -c {shlex.quote(script)}"


# The system's ssh, with its configuration, keys and agent.

LAST_WORDS_BYTES = 4000
SECONDS_TO_END = 5.0
# A terminal's Ctrl-C reaches all of its processes. ssh must not end before we handle the signal.
# An ignored signal stays ignored after exec; at its own prompts ssh handles it.
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
        """Wait for bytes before the first message; return b"" at the end."""
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
        """Return the last output of ssh and the server on standard error."""
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
