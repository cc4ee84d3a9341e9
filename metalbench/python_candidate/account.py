"""Whose work a Python candidate's calls are: its own kernels', or the host's.

The judge reads processor times of the candidate's threads from the system. Kernels run in threads
of the extension, which nothing else uses; all else (Python, NumPy, MLX's own operations) runs in
other threads. What the candidate's process tells of launches is believed as far as the system's
figures allow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from metalbench.isolation.thread_times import Times

# The least share of a call's work that is the candidate's own kernels', for a time to count.
LEAST_SHARE = 0.5
# What a share may be beyond 100 %: clocks are read one after the other.
TOLERANCE = 0.05
# Of what calls cost besides: measured elsewhere, and on a machine that is never quite the same.
SLACK = 2.0
# A thread that is kept from the processor may run two launches without waiting in between.
LAUNCHES_PER_WAIT = 2
FEW_LAUNCHES = 64


@dataclass(frozen=True)
class Overhead:
    """Processor time in ns that is not work: a call that only launches, and one more launch."""

    call_ns: float = 0.0
    launch_ns: float = 0.0


@dataclass(frozen=True)
class Account:
    """What `calls` calls came to.

    `passed_ns` is by the judge's clock. `launches`, `kernel_ns` and `told_ns` are what the process
    tells: how many kernels, and how long they and the calls took. `times` are the system's, None
    where it does not tell them.
    """

    calls: int
    passed_ns: float
    launches: float
    kernel_ns: float
    told_ns: float
    times: Times | None = None

    def forged(self) -> str:
        """Return what in the account cannot be, or nothing."""
        told = {"launches": self.launches, "kernel_ns": self.kernel_ns, "told_ns": self.told_ns}
        for name, value in told.items():
            if not math.isfinite(value) or value < 0:
                return f"expected a number from 0 on as {name}, got {value}"
        most = self.passed_ns * (1 + TOLERANCE)
        if self.told_ns > most or self.kernel_ns > most:
            share = max(self.kernel_ns, self.told_ns) / max(self.passed_ns, 1)
            return f"its process tells of {share:.0%} of the time that passed"
        if self.kernel_ns > self.told_ns * (1 + TOLERANCE):
            share = self.kernel_ns / max(self.told_ns, 1)
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
            spent = self.told_ns - self.kernel_ns
            return max(0.0, spent - SLACK * self.calls * overhead.call_ns)
        further = max(0.0, min(self.launches, self.times.waits) - self.calls)
        free = self.calls * overhead.call_ns + further * overhead.launch_ns
        return max(0.0, self.times.others_ns - SLACK * free)

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
