"""What runs in the process that a draft is checked in, which is confined before it is read."""

from __future__ import annotations

from multiprocessing.connection import Connection

from agent_steel.welding.messages import of_welders, of_workers
from metalbench.sandbox.confinement import confine
from metalbench.workers.channel import Channel


def work(channel: int, lifeline: int, parent: int, device: str) -> None:
    """Check one draft for the process `parent`, over the descriptor `channel`, on `device`."""
    means = confine(lifeline, parent)
    try:
        _serve(Channel(Connection(channel), of_workers, of_welders), device, means)
    except (EOFError, OSError):
        # The parent process has closed the channel.
        return


def _serve(channel: Channel, device_name: str, means: str) -> None:
    from agent_steel.welding.checks import check
    from metalbench import _core
    from metalbench.errors import MachineError

    device = _core.open(device_name)
    channel.send("open", means)
    _, job = channel.receive()
    try:
        found = check(device, job, lambda stage: channel.send("stage", stage))
    except MachineError as error:
        channel.send("machine", str(error))
    else:
        channel.send("checked", found)
    # The parent process ends this one after the message.
    channel.receive()
