"""What keeps kernels from being measured elsewhere; none of it is a kernel's fault."""

from __future__ import annotations

from metalbench.errors import MachineError


class RemoteError(MachineError):
    """The other machine cannot be reached, or cannot do what is asked of it."""


class VersionError(RemoteError):
    """The other machine has no metalbench, or not the same as this one; installing it helps."""


class ConnectionLostError(RemoteError):
    """The connection broke in the middle; what had come back is kept."""
