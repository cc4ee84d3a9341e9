"""Whose work a Python candidate's calls are: its own kernels', or the host's.

The judge reads processor times of the candidate's threads from the system. Kernels run in threads
of the extension, which nothing else uses; all else (Python, NumPy, MLX's own operations) runs in
other threads. What the candidate's process tells of launches is believed as far as the system's
figures allow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from metalbench.isolation.thread_times import ProcessTimes

# The least share of a call's work that is the candidate's own kernels', for a time to count.
LEAST_SHARE = 0.5
# What a share may be beyond 100 %: clocks are read one after the other.
TOLERANCE = 0.05
# Of what calls cost besides: measured elsewhere, and on a machine that is never quite the same.
SLACK = 2.0
# A thread that is kept from the processor may run two launches without waiting in between.
LAUNCHES_PER_WAIT = 2
FEW_LAUNCHES = 64
# The least part of the inputs' bytes that the kernels of a call are given, and of the outputs'
# bytes that they write.
LEAST_FLOW = 0.5
# How many of the calls may be below the least share, if there are enough of them to tell.
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
        most = self.passed_ns * (1 + TOLERANCE)
        if self.reported_ns > most or self.kernel_ns > most:
            share = max(self.kernel_ns, self.reported_ns) / max(self.passed_ns, 1)
            return f"its process tells of {share:.0%} of the time that passed"
        if self.kernel_ns > self.reported_ns * (1 + TOLERANCE):
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
