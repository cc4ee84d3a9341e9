"""Installing this very version of metalbench on another machine."""

from __future__ import annotations

import subprocess
import sys

from metalbench.remote.address import DEFAULT_FOLDER, Address
from metalbench.remote.archive import build_archive, get_archive_name
from metalbench.remote.failures import RemoteError
from metalbench.remote.scripts import NO_PYTHON, NOT_OURS, make_install_script
from metalbench.remote.ssh import command_line

REASONS = {
    NO_PYTHON: "no Python from 3.10 on was found there; on a Mac `brew install python` brings one",
    NOT_OURS: "the folder holds something that is no virtual environment; name another one",
}


def install(address: Address) -> None:
    """Send the sources, and have pip build and install them in the folder that `address` names.

    What pip says is shown on standard error. Raises RemoteError if it fails.
    """
    sources = build_archive()
    done = subprocess.run(
        command_line(address, make_install_script(address, get_archive_name())),
        input=sources,
        stdout=sys.stderr.fileno() if _has_descriptor() else subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        said = REASONS.get(done.returncode, "see what it said above")
        raise RemoteError(
            f"[on] {address}: metalbench could not be installed in "
            f"{address.folder or DEFAULT_FOLDER}: {said}"
        )


def _has_descriptor() -> bool:
    try:
        return sys.stderr.fileno() >= 0
    except (OSError, ValueError):
        return False
