"""Where ``metalbench evaluate`` does its work: on this machine, or with ``--cluster`` on others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from metalbench.cli.isolation import limits_of

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.generations.seats import Seats
    from metalbench.result import DeviceFacts
    from metalbench.result.environment import Environment

    Found = tuple[DeviceFacts, Environment, Seats]


@contextmanager
def seats_for(options: Mapping[str, Any], log: Console) -> Iterator[Found]:
    """The device that `options` ask for, its machine, and the seats that there are.

    What speaks against measuring now is told.
    """
    if options["cluster"] is None:
        yield _here(options, log)
        return
    from metalbench.cluster.on_ray import RaySeats
    from metalbench.cluster.place import Wanted
    from metalbench.cores import usable_cores
    from metalbench.msl.engine import ENGINE_VARIABLE, read_engine

    limits = limits_of(options)
    # Kernels of the cpu device run everywhere in the same way, so that results are of one kind.
    variables = {ENGINE_VARIABLE: read_engine()}
    wanted = Wanted(limits.seconds, options["memory_limit"], variables)
    count = options["workers"] or usable_cores()
    seats = RaySeats(options["cluster"], options["device"], wanted, count)
    try:
        opened = seats.opened
        for each in opened.warnings:
            log.print(f"Warning: {each}.", style="yellow", soft_wrap=True)
        yield opened.device, opened.environment, seats
    finally:
        seats.close()


def _here(options: Mapping[str, Any], log: Console) -> Found:
    from metalbench import _core
    from metalbench.cli.warning import warn
    from metalbench.generations.seats import Here
    from metalbench.isolation import Workers
    from metalbench.result.environment import environment
    from metalbench.run.observed import device_facts

    device = _core.open(options["device"])
    warn(log, device)
    place = partial(Workers, options["device"], limits_of(options))
    return device_facts(device), environment(), Here(place, options["workers"] or 1)
