"""Messages between the judge and a candidate's process, and the memory that both share."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.task.dtypes import DTYPES

MOST_BYTES = 1 << 24
ALIGNMENT = 64
# The first byte of a message. To the candidate's process: what a call looks like, and to make some
# calls. From it: all is loaded and sealed, that is done, kernels are needed, something went wrong.
# Before these: BEGIN once the process is sealed, and OVERHEAD to measure a form of the reference.
# PROBE makes one call in which the kernels go wrong.
SET_LAYOUT, CALL, BEGIN, OVERHEAD, PROBE = b"L", b"C", b"B", b"O", b"P"
SEALED, DONE, NEEDS, WRONG = b"S", b"D", b"N", b"W"
# CALL: the number of calls. DONE: launches of its own kernels, nanoseconds in them and in all
# calls, bytes of the arguments that kernels read, and bytes of those that they write.
COUNT, DONE_FIELDS = struct.Struct("<I"), struct.Struct("<QQQQQ")
# PROBE: its kind and a seed. The answer: bytes of arguments read, and bytes that kernels wrote.
PROBE_FIELDS, PROBE_RESULT = struct.Struct("<BQ"), struct.Struct("<QQ")
# The answer to OVERHEAD: ns of a call that only launches, and of one more launch.
COSTS = struct.Struct("<dd")


@dataclass(frozen=True)
class Launch:
    """Code that a call needs: a generated kernel, in a shape of threadgroups.

    `last` is how many threads the last threadgroup of a row has if that is fewer, else 0.
    """

    name: str
    file: str
    unit: str
    math: str
    threads: tuple[int, int, int]
    last: int


@dataclass(frozen=True)
class ReferenceForm:
    """A form of the reference, by its kind, of the task that a file declares."""

    kind: str
    path: Path
    set: str


@dataclass(frozen=True)
class CandidateStart:
    """The first message to a process, before it is sealed: a candidate or a reference form."""

    file: str
    task: str
    arena_bytes: int
    source: str = ""
    launches: tuple[Launch, ...] = ()
    checked: bool = False
    unconfined: bool = False
    form: ReferenceForm | None = None


@dataclass(frozen=True)
class SealReport:
    """The confinement mechanisms that a process could not use, each with the reason."""

    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArrayLocation:
    """An array's place in a slot, in bytes from the slot's begin."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @property
    def nbytes(self) -> int:
        """How long it is."""
        return math.prod(self.shape) * DTYPES[self.dtype].nbytes

    def array(self, memory: np.ndarray[Any, Any], slot_begin: int) -> np.ndarray[Any, Any]:
        """A view of it in `memory`, uint8, of a slot that begins there."""
        begin = slot_begin + self.offset
        return (
            memory[begin : begin + self.nbytes].view(DTYPES[self.dtype].numpy).reshape(self.shape)
        )


@dataclass(frozen=True)
class CallLayout:
    """The layout of inputs and outputs in a slot of `nbytes`; `values` are sizes and constants.

    Slots follow each other in the memory that both processes share.
    """

    inputs: tuple[ArrayLocation, ...]
    outputs: tuple[ArrayLocation, ...]
    values: Mapping[str, int | float]
    nbytes: int


@dataclass(frozen=True)
class CandidateError:
    """An error in a candidate's process: its class and its message."""

    kind: str
    message: str


def make_layout(
    inputs: Mapping[str, tuple[str, tuple[int, ...]]],
    outputs: Mapping[str, tuple[str, tuple[int, ...]]],
    values: Mapping[str, int | float],
) -> CallLayout:
    """The layout of arrays of these element types and shapes."""
    places: list[ArrayLocation] = []
    begin = 0
    for name, (dtype, shape) in [*inputs.items(), *outputs.items()]:
        places.append(ArrayLocation(name, dtype, shape, begin))
        begin += -(-places[-1].nbytes // ALIGNMENT) * ALIGNMENT
    split = len(inputs)
    return CallLayout(
        tuple(places[:split]), tuple(places[split:]), dict(values), max(begin, ALIGNMENT)
    )
