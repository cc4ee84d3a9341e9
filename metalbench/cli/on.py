"""``--on``: kernels run on another machine, all else is here."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from metalbench.cli.isolation import limits_of
from metalbench.report.console import echo

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from metalbench.remote.address import Address
    from metalbench.remote.elsewhere import Elsewhere

Command = TypeVar("Command", bound=Callable[..., Any])
ADDRESS = "ssh://HOST"
SSH_CONFIG = Path("~/.ssh/config")


def _address(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse what is no address before anything is done."""
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
    """Hosts that ssh's configuration names, for the shell."""
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
        "ssh, as ssh://[USER@]HOST[:PORT][/FOLDER]. Results are kept here.",
    )(command)


def on_options(command: Command) -> Command:
    """``--on``, ``--install`` and ``--no-verify-here``."""
    for option in (
        click.option(
            "--no-verify-here",
            is_flag=True,
            help="With --on: send kernels that were not verified on this machine first.",
        ),
        click.option(
            "--install",
            is_flag=True,
            help="With --on: install this very version there, if it is not there yet.",
        ),
        on_option,
    ):
        command = option(command)
    return command


@contextmanager
def elsewhere(
    options: Mapping[str, Any], variables: Mapping[str, str] | None = None
) -> Iterator[Elsewhere]:
    """The machine that --on names, ready; when this ends nothing runs there any more.

    Raises RemoteError where there is none, or not the same metalbench.
    """
    from metalbench.remote.address import Address

    address = Address.parse(options["on"])
    found = _connected(address, variables, install=options["install"])
    try:
        limits = limits_of(options)
        found.open(options["device"], seconds=limits.seconds, memory_bytes=options["memory_limit"])
        yield found
    finally:
        found.close()


def _connected(
    address: Address, variables: Mapping[str, str] | None, *, install: bool
) -> Elsewhere:
    from metalbench.remote.connecting import connect
    from metalbench.remote.failures import VersionError
    from metalbench.remote.install import install as install_there

    try:
        return connect(address, variables)
    except VersionError as error:
        if not install and not _agreed(str(error)):
            raise
    echo(f"Installing metalbench on {address}; it takes a few minutes.", err=True)
    install_there(address)
    return connect(address, variables)


def _agreed(why: str) -> bool:
    """Ask at a terminal; elsewhere nobody would answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return click.confirm(f"{why}\nInstall it there now?", default=False, err=True)
