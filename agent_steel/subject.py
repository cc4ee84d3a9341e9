"""What is to be made faster: one kernel at one size and element type, on one device."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from agent_steel.attempt import Attempt
from agent_steel.history import Place
from agent_steel.source import source_key, with_source
from metalbench.kernel import Kernel
from metalbench.kernel.library import Entry
from metalbench.result import DeviceFacts
from metalbench.result.environment import engine_on
from metalbench.task import Task


@dataclass(frozen=True)
class Subject:
    """A kernel of the library as its file is, and where it is to be made faster."""

    entry: Entry
    kernel: Kernel
    dtype: str
    size: str
    device: DeviceFacts

    @property
    def task(self) -> Task:
        """The task that the kernel solves."""
        return self.entry.task

    @cached_property
    def place(self) -> Place:
        """Which history its attempts are of."""
        device = self.device
        return Place(
            device.kind,
            device.name,
            device.cores,
            engine_on(device.kind),
            self.entry.name,
            self.dtype,
            self.size,
        )

    @cached_property
    def extents(self) -> Mapping[str, int]:
        """The names of the size."""
        return self.task.extents(self.size)

    @cached_property
    def key(self) -> str:
        """The key of the kernel as its file is."""
        return source_key(self.kernel, {}, dtype=self.dtype)

    @cached_property
    def reference(self) -> str:
        """The text of the MLX reference."""
        try:
            return inspect.getsource(self.task.reference)
        except (OSError, TypeError):
            return self.task.baseline

    def kernel_of(self, attempt: Attempt) -> Kernel:
        """Return the kernel that an attempt is; raises DeclarationError if its header is wrong."""
        return with_source(self.kernel, attempt.source)
