"""From an address to a machine that is ready: the same metalbench has to be there."""

from __future__ import annotations

from collections.abc import Mapping

from metalbench.msl.engine import ENGINE_VARIABLE, read_engine
from metalbench.remote.address import DEFAULT_FOLDER, Address
from metalbench.remote.elsewhere import RemoteWorkers
from metalbench.remote.failures import RemoteError, VersionError
from metalbench.remote.line import HeartbeatConnection
from metalbench.remote.scripts import ANOTHER_THERE, NOTHING_THERE, make_serve_script
from metalbench.remote.ssh import Ssh
from metalbench.remote.version import InstalledVersion, get_local_version

# What a login there may print before anything of ours.
MOST_NOISE_BYTES = 2**16
REMEDY = "add --install, which installs this very version there"


def connect(address: Address, variables: Mapping[str, str] | None = None) -> RemoteWorkers:
    """Start metalbench there; its device is yet to be opened.

    `variables` are set in its environment. Raises VersionError where it is missing or another one,
    RemoteError where the machine cannot be reached.
    """
    # Both sides run kernels of the cpu device in the same way, so that results are of one kind.
    chosen = {ENGINE_VARIABLE: read_engine(), **(variables or {})}
    ssh = Ssh(address, make_serve_script(address, chosen))
    try:
        _check_version(address, _read_greeting(ssh), ssh)
    except BaseException:
        ssh.end()
        raise
    line = HeartbeatConnection.for_client(ssh.connection)
    return RemoteWorkers(
        line,
        str(address),
        disconnect=ssh.end,
        read_output=ssh.read_output_tail,
        print_output=ssh.print_output,
    )


def _read_greeting(ssh: Ssh) -> str:
    """The first line that is ours, whatever a login prints before it; "" if there is none."""
    noise = b""
    while len(noise) < MOST_NOISE_BYTES:
        byte = ssh.read_byte()
        if byte in (b"", b"\n"):
            line = noise.decode(errors="replace").rpartition("\n")[2].strip()
            if InstalledVersion.parse(line) or line.startswith((NOTHING_THERE, ANOTHER_THERE)):
                return line
        if not byte:
            return ""
        noise += byte
    return ""


def _check_version(address: Address, greeting: str, ssh: Ssh) -> None:
    there, here = InstalledVersion.parse(greeting), get_local_version()
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
            f"serve: {found}{_quote_output(ssh)}; {REMEDY}"
        )
    raise RemoteError(
        f"[on] {address} cannot be reached:{_quote_output(ssh) or ' ssh ended without a word'}\n"
        f"`ssh {' '.join(address.ssh_arguments)} true` has to work without a question, or be run "
        "at a terminal"
    )


def _quote_output(ssh: Ssh) -> str:
    # What it says last it says as it ends.
    ssh.end()
    said = ssh.read_output_tail()
    return "".join(f"\n  {line}" for line in said.splitlines()[-12:])
