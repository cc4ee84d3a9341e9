"""``--on``: run kernels on another machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from metalbench.cli.config import MachineConfig
from metalbench.report.console import echo

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from metalbench.remote.address import Address
    from metalbench.remote.elsewhere import RemoteWorkers

Command = TypeVar("Command", bound=Callable[..., Any])
ADDRESS = "ssh://HOST"
SSH_CONFIG = Path("~/.ssh/config")


def _address(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Parse an address; raise BadParameter for another text."""
    if value is not None:
        from metalbench.errors import DeclarationError
        from metalbench.remote.address import Address

        try:
            return str(Address.parse(value))
        except DeclarationError as error:
            raise click.BadParameter(str(error), ctx, parameter) from error
    return None


def complete_hosts(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the hosts of ssh's configuration that begin so, for the shell's completion."""
    from click.shell_completion import CompletionItem

    try:
        text = SSH_CONFIG.expanduser().read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = re.findall(r"^[ \t]*Host[ \t=]+([^#\n]+)", text, re.IGNORECASE | re.MULTILINE)
    names = [name for line in lines for name in line.split() if not set(name) & set("*?!")]
    found = dict.fromkeys(f"ssh://{name}" for name in names)
    return [CompletionItem(each) for each in found if each.startswith(incomplete)]


def on_option(command: Command) -> Command:
    """``--on``."""
    return click.option(
        "--on",
        metavar=ADDRESS,
        callback=_address,
        shell_complete=complete_hosts,
        help="Run the kernels on another machine, such as ssh://mac.local: over the system's "
        "ssh, as ssh://[USER@]HOST[:PORT][/FOLDER]. Results are stored here.",
    )(command)


def on_options(command: Command) -> Command:
    """``--on``, ``--install`` and ``--no-verify-here``."""
    for option in (
        click.option(
            "--no-verify-here",
            is_flag=True,
            help="With --on: send kernels without verifying them on this machine first.",
        ),
        click.option(
            "--install",
            is_flag=True,
            help="With --on: install this version there, if it is missing.",
        ),
        on_option,
    ):
        command = option(command)
    return command


@contextmanager
def connect_machine(
    config: MachineConfig, variables: Mapping[str, str] | None = None
) -> Iterator[RemoteWorkers]:
    """Connect to the machine that --on names; at the end stop everything that runs there.

    `variables` are environment variables of the processes there. Raises RemoteError if the machine
    cannot be reached, or has another version of metalbench.
    """
    from metalbench.remote.address import Address

    assert config.on is not None
    address = Address.parse(config.on)
    found = _connect(address, variables, install=config.install)
    try:
        found.open(config.device, seconds=config.limits.seconds, memory_bytes=config.memory_limit)
        yield found
    finally:
        found.close()


def _connect(
    address: Address, variables: Mapping[str, str] | None, *, install: bool
) -> RemoteWorkers:
    from metalbench.remote.connecting import connect
    from metalbench.remote.failures import VersionError
    from metalbench.remote.install import install as install_on

    try:
        return connect(address, variables)
    except VersionError as error:
        if not install and not _confirm_installation(str(error)):
            raise
    echo(f"Installing metalbench on {address}; it takes a few minutes.", err=True)
    install_on(address)
    return connect(address, variables)


def _confirm_installation(why: str) -> bool:
    """Ask the user at a terminal; return False if there is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm(f"{why}\nInstall it there now?", default=False, err=True)
