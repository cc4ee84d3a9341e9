"""The machine that a command's kernels run on: this one, or with ``--on`` another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

import click

from metalbench.cli.isolation import limits_of, workers_for
from metalbench.cli.on import elsewhere
from metalbench.cli.warning import warn

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from metalbench._core import Device
    from metalbench.isolation import Workers
    from metalbench.leaderboard.pairing import Site
    from metalbench.remote.elsewhere import Elsewhere
    from metalbench.result import DeviceFacts
    from metalbench.result.environment import Environment
    from metalbench.run.runner import Attempts
    from metalbench.run.trial import Trial

GPU_TRACES = {"MTL_CAPTURE_ENABLED": "1"}


class Machine(Protocol):
    """A device, the machine that it is of, and where its kernels are tried.

    `site` None is this very process; `attempts` is the same for a run, as a context.
    """

    @property
    def device(self) -> Device | DeviceFacts:
        """The device, of another machine its facts."""

    @property
    def environment(self) -> Environment:
        """The machine and the software on it."""

    @property
    def site(self) -> Site | None:
        """Where kernels are tried and run in pairs."""

    @property
    def attempts(self) -> AbstractContextManager[Attempts] | None:
        """Where a run's kernels are tried."""

    def warn(self, log: Console) -> None:
        """Say what speaks against measuring now, and of another machine what it is."""

    def capture(self, trial: Trial, path: Path) -> None:
        """Leave a GPU trace of one pass of a kernel at `path`, on this machine."""


class Here:
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
        """Say what speaks against measuring now."""
        warn(log, self.device)

    def capture(self, trial: Trial, path: Path) -> None:
        """Leave a GPU trace, made in this process."""
        from metalbench.run.capture import capture

        capture(self.device, trial, path)


class There:
    """Another machine, to which only kernels are sent that `site` has found right here."""

    def __init__(self, found: Elsewhere, site: Site, *, verifies: bool) -> None:
        self._found = found
        self._verifies = verifies
        self.site = site
        self.device = found.facts
        self.environment = found.environment

    @property
    def attempts(self) -> AbstractContextManager[Attempts]:
        """Where a run's kernels are tried; it stays open after the run."""
        return nullcontext(self.site)

    def warn(self, log: Console) -> None:
        """Say where kernels run, and what there speaks against measuring now."""
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
        """Leave a GPU trace that is made there."""
        self._found.capture(trial, path)


@contextmanager
def machine_for(options: Mapping[str, Any], *, traces: bool = False) -> Iterator[Machine]:
    """The machine that `options` ask for; at the end all that it runs is ended.

    `traces`: GPU traces are to be made, which takes a process that is started for them.
    """
    if not options["on"]:
        _expect_on(options)
        with workers_for({"in_process": False, **options}) as workers:
            yield Here(options["device"], workers)
        return
    if options.get("in_process"):
        raise click.UsageError("--on: expected no --in-process, for kernels run elsewhere")
    with elsewhere(options, GPU_TRACES if traces else None) as found:
        if options["no_verify_here"]:
            yield There(found, found, verifies=False)
            return
        from metalbench.remote.verified_here import VerifiedHere

        site = VerifiedHere(found, limits_of(options))
        try:
            yield There(found, site, verifies=True)
        finally:
            site.close()


def device_of(options: Mapping[str, Any]) -> Device | DeviceFacts:
    """The device that `options` ask for, on which nothing is to be run."""
    if not options["on"]:
        from metalbench import _core

        return _core.open(options["device"])
    unused = {"kernel_timeout": 1.0, "memory_limit": None, "install": False}
    with elsewhere({**unused, **options}) as found:
        return found.facts


def _expect_on(options: Mapping[str, Any]) -> None:
    for name in ("install", "no_verify_here"):
        if options[name]:
            option = name.replace("_", "-")
            raise click.UsageError(f"--{option}: expected --on with it, such as --on ssh://mac")
