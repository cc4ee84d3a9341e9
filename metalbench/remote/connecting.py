"""From an address to a machine that is ready: the same metalbench has to be there."""

from __future__ import annotations

from collections.abc import Mapping

from metalbench.msl.engine import ENGINE_VARIABLE, read_engine
from metalbench.remote.address import DEFAULT_FOLDER, Address
from metalbench.remote.elsewhere import Elsewhere
from metalbench.remote.failures import RemoteError, VersionError
from metalbench.remote.line import Line
from metalbench.remote.scripts import ANOTHER_THERE, NOTHING_THERE, serving
from metalbench.remote.ssh import Ssh
from metalbench.remote.version import Version, version_here

# What a login there may print before anything of ours.
MOST_NOISE_BYTES = 2**16
REMEDY = "add --install, which installs this very version there"


def connect(address: Address, variables: Mapping[str, str] | None = None) -> Elsewhere:
    """Start metalbench there; its device is yet to be opened.

    `variables` are set in its environment. Raises VersionError where it is missing or another one,
    RemoteError where the machine cannot be reached.
    """
    # Both sides run kernels of the cpu device in the same way, so that results are of one kind.
    chosen = {ENGINE_VARIABLE: read_engine(), **(variables or {})}
    ssh = Ssh(address, serving(address, chosen))
    try:
        _expect_same(address, _greeting(ssh), ssh)
    except BaseException:
        ssh.end()
        raise
    line = Line.of_here(ssh.connection)
    return Elsewhere(line, str(address), hang_up=ssh.end, words=ssh.last_words, pass_on=ssh.pass_on)


def _greeting(ssh: Ssh) -> str:
    """The first line that is ours, whatever a login prints before it; "" if there is none."""
    noise = b""
    while len(noise) < MOST_NOISE_BYTES:
        byte = ssh.read_some()
        if byte in (b"", b"\n"):
            line = noise.decode(errors="replace").rpartition("\n")[2].strip()
            if Version.read(line) or line.startswith((NOTHING_THERE, ANOTHER_THERE)):
                return line
        if not byte:
            return ""
        noise += byte
    return ""


def _expect_same(address: Address, greeting: str, ssh: Ssh) -> None:
    there, here = Version.read(greeting), version_here()
    if there == here:
        return
    if there is not None:
        raise VersionError(
            f"[on] {address}: expected metalbench {here}, as it is here; there is {there}; {REMEDY}"
        )
    if greeting.startswith(NOTHING_THERE):
        place = address.folder or f"{DEFAULT_FOLDER}, nor on the path"
        raise VersionError(
            f"[on] {address}: expected metalbench {here} there, and found none in {place}; {REMEDY}"
        )
    if greeting.startswith(ANOTHER_THERE):
        found = greeting.removeprefix(ANOTHER_THERE).strip()
        raise VersionError(
            f"[on] {address}: expected metalbench {here}, as it is here; what is there cannot "
            f"serve: {found}{_quoted(ssh)}; {REMEDY}"
        )
    raise RemoteError(
        f"[on] {address} cannot be reached:{_quoted(ssh) or ' ssh ended without a word'}\n"
        f"`ssh {' '.join(address.ssh_arguments)} true` has to work without a question, or be run "
        "at a terminal"
    )


def _quoted(ssh: Ssh) -> str:
    # What it says last it says as it ends.
    ssh.end()
    said = ssh.last_words()
    return "".join(f"\n  {line}" for line in said.splitlines()[-12:])
