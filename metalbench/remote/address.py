"""What ``--on`` names: ssh://[USER@]HOST[:PORT][/FOLDER]."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from metalbench.errors import DeclarationError

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
        """What ssh is told of it, the host last."""
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
