"""Open the machine and the device of a command: this one, or another by ``--on``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from metalbench.cli.options import MachineConfig
from metalbench.report.console import echo

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
    from rich.console import Console

    from metalbench._core import Device
    from metalbench.compare.leaderboard import Site
    from metalbench.measure.device_limits import Peaks
    from metalbench.run.runner import Attempts
    from metalbench.run.trial import Trial
    from metalbench.store.environment import Environment
    from metalbench.store.result import DeviceFacts
    from metalbench.workers.cluster import RayWorkerProvider
    from metalbench.workers.pool import Workers
    from metalbench.workers.remote_workers import RemoteWorkers
    from metalbench.workers.ssh import Address


def warn(log: Console, device: Device) -> None:
    """Print conditions of device and machine that speak against measuring now."""
    from metalbench.process import usable_cores
    from metalbench.store.result import list_device_warnings, warn_of_load

    busy = warn_of_load(os.getloadavg()[0], usable_cores()) if hasattr(os, "getloadavg") else None
    for each in (*list_device_warnings(device.state()), *([busy] if busy else ())):
        log.print(f"Warning: {each}.", style="yellow", soft_wrap=True)


# ``--on``: run kernels on another machine.

Command = TypeVar("Command", bound=Callable[..., Any])
ADDRESS = "ssh://HOST"
SSH_CONFIG = Path("~/.ssh/config")


def _address(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Parse an address; raise BadParameter for another text."""
    if value is not None:
        from metalbench.errors import DeclarationError
        from metalbench.workers.ssh import Address

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
    from metalbench.workers.ssh import Address

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
    from metalbench.workers.install import install as install_on
    from metalbench.workers.remote_workers import connect
    from metalbench.workers.ssh import VersionError

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


# Open the workers of ``metalbench evaluate``: of this machine, or with ``--cluster`` of others.

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.store.environment import Environment
    from metalbench.store.result import DeviceFacts
    from metalbench.workers.scheduler import WorkerProvider

    Found = tuple[DeviceFacts, Environment, WorkerProvider]


@contextmanager
def open_seats(
    config: MachineConfig, cluster: str | None, workers: int | None, log: Console
) -> Iterator[Found]:
    """Return the device, its machine and its workers; print reasons not to measure now.

    `cluster` is the address of a Ray cluster, or "local" for a cluster of this machine alone.
    """
    if cluster is None:
        yield _open_here(config, workers or 1, log)
        return
    from metalbench.msl.engine import ENGINE_VARIABLE, read_engine
    from metalbench.process import usable_cores
    from metalbench.workers.cluster import ClusterOptions, RayWorkerProvider

    # Kernels of the cpu device run in the same way on every node, so that results compare.
    variables = {ENGINE_VARIABLE: read_engine()}
    wanted = ClusterOptions(config.limits.seconds, config.memory_limit, variables)
    provider = RayWorkerProvider(cluster, config.device, wanted, workers or usable_cores())
    try:
        opened = provider.opened
        assert opened is not None
        for each in opened.warnings:
            log.print(f"Warning: {each}.", style="yellow", soft_wrap=True)
        yield opened.device, opened.environment, provider
    finally:
        provider.close()


def open_verifying_workers(
    config: MachineConfig, cluster: str, workers: int | None
) -> RayWorkerProvider:
    """Open the workers of a Ray cluster, which verify on their cpu device and time nothing."""
    from metalbench.msl.engine import ENGINE_VARIABLE, read_engine
    from metalbench.process import usable_cores
    from metalbench.workers.cluster import ClusterOptions, RayWorkerProvider

    variables = {ENGINE_VARIABLE: read_engine()}
    wanted = ClusterOptions(config.limits.seconds, config.memory_limit, variables)
    count = workers or usable_cores()
    return RayWorkerProvider(cluster, "cpu", wanted, count, timed=False)


def _open_here(config: MachineConfig, workers: int, log: Console) -> Found:
    from metalbench import _core
    from metalbench.run.trial import device_facts
    from metalbench.store.environment import environment
    from metalbench.workers.scheduler import LocalWorkerProvider

    device = _core.open(config.device)
    warn(log, device)
    return device_facts(device), environment(), LocalWorkerProvider(config.create_workers, workers)


# Open the machine that a command's kernels run on: this one, or with ``--on`` another.

GPU_TRACES = {"MTL_CAPTURE_ENABLED": "1"}


class Machine(Protocol):
    """A machine with one device, on which kernels are tried."""

    @property
    def device(self) -> Device | DeviceFacts:
        """The device; for another machine, facts about it."""

    @property
    def environment(self) -> Environment:
        """The machine and the software on it."""

    @property
    def site(self) -> Site | None:
        """The workers that try kernels and run them in pairs; None for this process."""

    @property
    def attempts(self) -> AbstractContextManager[Attempts] | None:
        """`site` as a context, for one run."""

    def warn(self, log: Console) -> None:
        """Print reasons not to measure now; for another machine, also a description of it."""

    def capture(self, trial: Trial, path: Path) -> None:
        """Write a GPU trace of one pass of a kernel to `path`, on this machine."""


class LocalMachine:
    """The machine that the command runs on."""

    def __init__(self, device: str, workers: Workers | None) -> None:
        from metalbench import _core

        self.device: Device = _core.open(device)
        self.site = workers
        self.attempts = workers

    @property
    def environment(self) -> Environment:
        """The machine and the software on it."""
        from metalbench.store.environment import environment

        return environment()

    def warn(self, log: Console) -> None:
        """Print reasons not to measure now."""
        warn(log, self.device)

    def capture(self, trial: Trial, path: Path) -> None:
        """Make a GPU trace in this process."""
        from metalbench.run.single_pass import capture

        capture(self.device, trial, path)


class RemoteMachine:
    """Another machine. `site` sends it kernels, after it has verified them on this machine."""

    def __init__(self, found: RemoteWorkers, site: Site, *, verifies: bool) -> None:
        self._found = found
        self._verifies = verifies
        self.site = site
        self.device = found.facts
        self.environment = found.environment

    @property
    def attempts(self) -> AbstractContextManager[Attempts]:
        """`site` as a context, which stays open after a run."""
        return nullcontext(self.site)

    def warn(self, log: Console) -> None:
        """Print where kernels run, and reasons not to measure there now."""
        device, there = self.device, self.environment
        first = "; each is verified here first, on the cpu device" if self._verifies else ""
        log.print(
            f"On {self._found.name}: {device.kind} ({device.name}), {there.os}{first}",
            soft_wrap=True,
            highlight=False,
        )
        for each in self._found.warnings:
            log.print(f"Warning: {each}.", style="yellow", soft_wrap=True)

    def capture(self, trial: Trial, path: Path) -> None:
        """Make a GPU trace on the other machine."""
        self._found.capture(trial, path)


@contextmanager
def open_machine(config: MachineConfig, *, traces: bool = False) -> Iterator[Machine]:
    """Open the machine that kernels run on; at the end stop everything that runs there.

    `traces` says that GPU traces will be made, which needs a process with `GPU_TRACES` set.
    """
    config.check()
    if config.on is None:
        with nullcontext() if config.in_process else config.create_workers() as workers:
            yield LocalMachine(config.device, workers)
        return
    with connect_machine(config, GPU_TRACES if traces else None) as found:
        if not config.verify_here:
            yield RemoteMachine(found, found, verifies=False)
            return
        from metalbench.workers.verify_locally import LocallyVerifiedWorkers

        site = LocallyVerifiedWorkers(found, config.limits)
        try:
            yield RemoteMachine(found, site, verifies=True)
        finally:
            site.close()


def open_device(config: MachineConfig) -> Device | DeviceFacts:
    """Return the device on which kernels would run. No kernel is run on it."""
    if config.on is None:
        from metalbench import _core

        return _core.open(config.device)
    with connect_machine(config) as found:
        return found.facts


# The limits of a device, for the roofline of a page.


def find_device_peaks(
    facts: DeviceFacts, dtypes: Collection[str], *, again: bool = True
) -> tuple[Peaks | None, str]:
    """Return the limits of a device for kernels of `dtypes`; else None and the reason.

    They are the published ones of its chip, else those that are measured, if this machine has the
    device. They are measured once, and `again` if other programs ran then.
    """
    from metalbench import _core
    from metalbench.chips import CHIPS
    from metalbench.errors import MetalBenchError
    from metalbench.measure.device_limits import Peaks, measure_peaks

    chip = CHIPS.get(facts.chip or "")
    if chip is not None:
        rates = chip.peak_rates(facts.cores)
        return Peaks(rates.flops_per_s / 1e9, rates.bytes_per_s / 1e9, chip.peak_source), ""
    elsewhere = "the limits of this device can be measured only on its own machine"
    try:
        device = _core.open(facts.kind)
    except MetalBenchError:
        return None, elsewhere
    if (device.name, device.cores) != (facts.name, facts.cores):
        return None, elsewhere
    try:
        return measure_peaks(device, with_halves="float16" in dtypes, again=again), ""
    except MetalBenchError as error:
        return None, f"the limits of this device cannot be measured here: {error}"
