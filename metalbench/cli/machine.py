"""Open the machine that a command's kernels run on: this one, or with ``--on`` another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from metalbench.cli.config import MachineConfig
from metalbench.cli.on import connect_machine
from metalbench.cli.warning import warn

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from metalbench._core import Device
    from metalbench.isolation import Workers
    from metalbench.leaderboard.pairing import Site
    from metalbench.remote.elsewhere import RemoteWorkers
    from metalbench.result import DeviceFacts
    from metalbench.result.environment import Environment
    from metalbench.run.runner import Attempts
    from metalbench.run.trial import Trial

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
        from metalbench.result.environment import environment

        return environment()

    def warn(self, log: Console) -> None:
        """Print reasons not to measure now."""
        warn(log, self.device)

    def capture(self, trial: Trial, path: Path) -> None:
        """Make a GPU trace in this process."""
        from metalbench.run.capture import capture

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
        from metalbench.remote.verified_here import LocallyVerifiedWorkers

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
