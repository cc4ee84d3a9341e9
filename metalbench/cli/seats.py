"""Open the workers of ``metalbench evaluate``: of this machine, or with ``--cluster`` of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from metalbench.cli.config import MachineConfig

if TYPE_CHECKING:
    from rich.console import Console

    from metalbench.generations.seats import WorkerProvider
    from metalbench.result import DeviceFacts
    from metalbench.result.environment import Environment

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
    from metalbench.cluster.on_ray import RayWorkerProvider
    from metalbench.cluster.place import ClusterOptions
    from metalbench.cores import usable_cores
    from metalbench.msl.engine import ENGINE_VARIABLE, read_engine

    # Kernels of the cpu device run in the same way on every node, so that results compare.
    variables = {ENGINE_VARIABLE: read_engine()}
    wanted = ClusterOptions(config.limits.seconds, config.memory_limit, variables)
    provider = RayWorkerProvider(cluster, config.device, wanted, workers or usable_cores())
    try:
        opened = provider.opened
        for each in opened.warnings:
            log.print(f"Warning: {each}.", style="yellow", soft_wrap=True)
        yield opened.device, opened.environment, provider
    finally:
        provider.close()


def _open_here(config: MachineConfig, workers: int, log: Console) -> Found:
    from metalbench import _core
    from metalbench.cli.warning import warn
    from metalbench.generations.seats import LocalWorkerProvider
    from metalbench.result.environment import environment
    from metalbench.run.observed import device_facts

    device = _core.open(config.device)
    warn(log, device)
    return device_facts(device), environment(), LocalWorkerProvider(config.create_workers, workers)
