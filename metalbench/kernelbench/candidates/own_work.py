"""Whose work a Python candidate's calls are: its own kernels', or the host's.

The judge reads processor times of the candidate's threads from the system. Kernels run in threads
of the extension, which nothing else uses; all else (Python, NumPy, MLX's own operations) runs in
other threads. What the candidate's process tells of launches is believed as far as the system's
figures allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from metalbench.mlx.call import CallInput, Output
from metalbench.sandbox.resources import ProcessTimes

# The least share of a call's work that is the candidate's own kernels', for a time to count.
LEAST_SHARE = 0.5
# The excess of a share over 100 % that is allowed: clocks are read one after the other.
ACCOUNT_TOLERANCE = 0.05
# Factor for the other costs of calls. They are measured apart from the calls, under other load.
SLACK = 2.0
# A thread that is kept from the processor may run two launches without waiting in between.
LAUNCHES_PER_WAIT = 2
FEW_LAUNCHES = 64
# The least part of the inputs' bytes that the kernels of a call are given, and of the outputs'
# bytes that they write.
LEAST_FLOW = 0.5
# The share of calls that may be below the least share, if there are enough calls.
MOST_BELOW = 0.5
ENOUGH_CALLS = 8


@dataclass(frozen=True)
class Overhead:
    """Processor time in ns that is not work: a call that only launches, and one more launch."""

    call_ns: float = 0.0
    launch_ns: float = 0.0


@dataclass(frozen=True)
class Account:
    """Totals of `calls` calls.

    `passed_ns` is measured by the judge's clock. The process itself reports `launches`, `kernel_ns`
    and `reported_ns`: the number of kernel launches, and the time of kernels and of calls. It also
    reports the bytes of arguments that kernels `read` and have `written`. `times` come from the
    system; None where it does not report them.
    """

    calls: int
    passed_ns: float
    launches: float
    kernel_ns: float
    reported_ns: float
    times: ProcessTimes | None = None
    read: float = 0.0
    written: float = 0.0

    def find_forgery(self) -> str:
        """Return what in the account cannot be, or nothing."""
        told = {"launches": self.launches, "kernel_ns": self.kernel_ns, "told_ns": self.reported_ns}
        for name, value in told.items():
            if not math.isfinite(value) or value < 0:
                return f"expected a number from 0 on as {name}, got {value}"
        most = self.passed_ns * (1 + ACCOUNT_TOLERANCE)
        if self.reported_ns > most or self.kernel_ns > most:
            share = max(self.kernel_ns, self.reported_ns) / max(self.passed_ns, 1)
            return f"its process tells of {share:.0%} of the time that passed"
        if self.kernel_ns > self.reported_ns * (1 + ACCOUNT_TOLERANCE):
            share = self.kernel_ns / max(self.reported_ns, 1)
            return f"its process tells that its kernels took {share:.0%} of its calls' time"
        if self.times is not None:
            possible = LAUNCHES_PER_WAIT * self.times.waits + FEW_LAUNCHES
            if self.launches > possible:
                return (
                    f"its process tells of {self.launches:.0f} launches, of which its threads can "
                    f"have run {possible} at most"
                )
        return ""

    def host_ns(self, overhead: Overhead) -> float:
        """Return the processor time of work outside of its own kernels, without overhead."""
        if self.times is None:
            spent = self.reported_ns - self.kernel_ns
            return max(0.0, spent - SLACK * self.calls * overhead.call_ns)
        further = max(0.0, min(self.launches, self.times.waits) - self.calls)
        # A call without a launch has no copies that its kernels need.
        free = self.launching_calls() * overhead.call_ns + further * overhead.launch_ns
        return max(0.0, self.times.others_ns - SLACK * free)

    def launching_calls(self) -> float:
        """Return how many of the calls can have launched a kernel, by the system's figures."""
        possible = min(float(self.calls), self.launches)
        if self.times is not None:
            possible = min(possible, LAUNCHES_PER_WAIT * self.times.waits)
        return possible

    def own_share(self, overhead: Overhead) -> float:
        """Return the share of the calls' work that its own kernels did, from 0 to 1.

        It is the lesser of two: of the processor time, and of the time that passed, in which the
        host may have worked at the same time as the kernels. Of kernels the busiest thread counts.
        """
        if not self.launches or not self.calls:
            return 0.0
        host = self.host_ns(overhead)
        own = self.kernel_ns if self.times is None else float(self.times.kernels_ns)
        if host <= 0:
            return 1.0
        return max(0.0, min(own / (own + host), 1 - host / max(self.passed_ns, 1)))


def find_missing_work(
    accounts: Sequence[Account], overhead: Overhead, inputs: int, outputs: int
) -> str:
    """Return what the kernels of calls lack to be what does their work, or nothing.

    Each account is of one request. `inputs` and `outputs` are a call's bytes.
    """
    for each in accounts:
        if each.launches < each.calls:
            return f"there were {each.launches:.0f} launches in {each.calls} calls"
        for words, got, whole in (
            ("were given", each.read, inputs * each.calls),
            ("had room for", each.written, outputs * each.calls),
        ):
            if got < LEAST_FLOW * whole:
                what = "inputs" if words == "were given" else "outputs"
                return (
                    f"they {words} {got:.0f} bytes, and the {what} of the calls are {whole}; "
                    f"expected {LEAST_FLOW:.0%} at least"
                )
    calls = sum(each.calls for each in accounts)
    waits = [each.times.waits for each in accounts if each.times is not None]
    if len(waits) == len(accounts) and LAUNCHES_PER_WAIT * sum(waits) < calls:
        return (
            f"its threads can have run {LAUNCHES_PER_WAIT * sum(waits)} launches at most in "
            f"{calls} calls"
        )
    shares = [each.own_share(overhead) for each in accounts]
    if len(shares) >= ENOUGH_CALLS:
        below = sum(each < LEAST_SHARE for each in shares) / len(shares)
        if below > MOST_BELOW:
            return (
                f"in {below:.0%} of the requests they did less than {LEAST_SHARE:.0%} of it; "
                f"expected {MOST_BELOW:.0%} of the requests at most"
            )
    return ""


# Probe whether a result depends on the output of the candidate's kernels.
#
# In a probe the candidate is called once more, and its kernels go wrong on purpose. If the result
# is right nevertheless, or right up to a scale and an offset, its kernels did not do the work.

Array = np.ndarray[Any, Any]

# An affine fit of fewer elements proves nothing.
LEAST_ELEMENTS = 16
# The part of the spread of the expected values that the fit may leave.
TOLERANCES = {"float32": 1e-3}
PROBE_TOLERANCE = 3e-2


class ProbeKind(IntEnum):
    """The fault that a probe injects into kernels.

    All elements of their outputs are one wrong value, or random values, or they run on other
    inputs.
    """

    CONSTANT = 0
    RANDOM = 1
    OTHER_INPUTS = 2

    @property
    def words(self) -> str:
        """A description of the injected fault."""
        return {
            ProbeKind.CONSTANT: "their outputs were all one wrong value",
            ProbeKind.RANDOM: "their outputs were random values",
            ProbeKind.OTHER_INPUTS: "they computed with other inputs",
        }[self]


@dataclass
class Probe:
    """One call in which kernels go wrong; `written` counts bytes of outputs that kernels wrote."""

    way: ProbeKind
    random: np.random.Generator
    written: int = 0

    def run(
        self,
        inputs: Sequence[CallInput],
        outputs: Sequence[Output],
        initial: bool,
        launch: Callable[[tuple[CallInput, ...]], None],
    ) -> None:
        """Do what a probe does instead of `launch`, which runs the kernel with some inputs.

        `initial` says that the outputs have an initial value, which counts as written.
        """
        if self.way is not ProbeKind.OTHER_INPUTS:
            for each in outputs:
                _fill(each.array, self.random, constant=self.way is ProbeKind.CONSTANT)
            return
        before = []
        for each in outputs:
            memory = each.buffer.numpy("uint8")
            if not initial:
                memory[:] = self.random.integers(0, 256, memory.size, np.uint8)
            before.append(memory.copy())
        launch(tuple(self._other(each) for each in inputs))
        for each, old in zip(outputs, before, strict=True):
            new = each.buffer.numpy("uint8")
            size = each.array.itemsize
            changed = (new != old).reshape(-1, size).any(axis=1)
            self.written += new.size if initial else size * int(changed.sum())

    def _other(self, given: CallInput) -> CallInput:
        """Return the input with other values if they are floating-point numbers."""
        if "float" not in given.memory.dtype.name:
            return given  # they may be places of other elements
        factors = self.random.uniform(1.5, 3, given.memory.size)
        factors *= self.random.choice((-1, 1), given.memory.size)
        other = (given.memory.astype(np.float32) * factors + 0.25).astype(given.memory.dtype)
        return replace(given, memory=other)


def is_affine_match(expected: Mapping[str, Array], got: Mapping[str, Array], dtype: str) -> bool:
    """Return whether all outputs equal the expected ones up to a scale and an offset."""
    tolerance = TOLERANCES.get(dtype, PROBE_TOLERANCE)
    return all(_is_affine_match(each, got[name], tolerance) for name, each in expected.items())


def _is_affine_match(expected: Array, got: Array, tolerance: float) -> bool:
    e, g = (each.astype(np.float64).ravel() for each in (expected, got))
    finite = np.isfinite(e)
    if not np.array_equal(finite, np.isfinite(g)):
        return False
    e, g = e[finite], g[finite]
    largest = float(np.abs(e).max(initial=0))
    if e.size < LEAST_ELEMENTS or e.std() <= 1e-6 * largest:
        return bool((np.abs(g - e) <= tolerance * largest).all())
    if g.std() <= 1e-6 * np.abs(g).max():
        return False
    e, g = (e - e.mean()) / e.std(), (g - g.mean()) / g.std()
    rest = g - (e @ g / e.size) * e
    return bool(np.sqrt((rest**2).mean()) <= tolerance)


def _fill(array: Array, random: np.random.Generator, *, constant: bool) -> None:
    shape = () if constant else array.shape
    if array.dtype.kind == "b":
        array[...] = True if constant else random.integers(0, 2, shape)
    elif array.dtype.kind in "iu":
        array[...] = random.integers(2, 100, shape)
    else:
        values = random.uniform(0.5, 2, shape) * random.choice((-1, 1), shape)
        array[...] = np.asarray(values).astype(array.dtype)
