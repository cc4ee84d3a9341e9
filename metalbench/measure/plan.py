"""What a measurement may cost and what it wants to reach."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

WINDOW_NS = 1_000_000
# Wall time has the way to the GPU and back in it, up to 0.1 ms: that must be a small part of it.
GPU_WINDOW_NS = 15_000_000


class Mode(str, Enum):
    """Where the inputs are when a pass begins; times of different modes do not compare.

    WARM passes use the same buffers over and over, so that what fits stays in the caches; COLD
    ones go round copies that together are at least three times the last-level cache.
    """

    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how finely to sample.

    Attributes
    ----------
    seconds
        Limit of the measurement's time, the first warm-up excluded.
    seed
        Of the order of candidate and reference within each pair.
    window_ns
        Least length of a sample: a window of K passes, K as small as reaches it. None takes what
        suits the device: `WINDOW_NS`, or `GPU_WINDOW_NS` where it has a clock of its own.
    warmup_ns
        Least warm-up before the first sample; a twentieth of it after inputs were exchanged.
    look_pairs
        Pairs of a look, which are on the same inputs; fewer, but at least four, of a kernel so slow
        that a look would take more than an eighth of `seconds`. All looks have the same number.
    first_look
        Pairs that are judged first, rounded up to whole looks, but no more than four looks have;
        then half as many more each time. Judging after every pair would stop at lucky moments.
    min_pairs
        Taken even if they exceed `seconds`, for fewer carry no interval; but a kernel for which
        these would take more than four times as long gets as few as eight, and one whose pairs all
        tell by far who is faster, when the time is up, as few as five.
    max_pairs
        Never more than these.
    settled_half_width
        Relative half-width of the time's interval that is enough where the verdict is settled;
        once half of `seconds` is spent, any is.
    half_width
        Relative half-width of the intervals that is precise enough whatever the verdict.
    min_effective
        Independent samples (n / tau) that are enough for that.
    mode
        Warm or cold.
    probe_drop
        Of a device with a clock of its own, a probe that is slower than the best one by more shows
        a lower clock, and is told; elsewhere other programs look the same.
    obeys_probe
        Whether pairs of a lower clock are also dropped, until it has recovered, and a clock that
        does not recover is a verdict of its own. Off: how GPUs' clocks move is to be known first.
    retries
        After throttling, before giving up.
    cool_ns
        Rest after throttling.
    long_windows
        Of four times the passes, of both sides, at the end, for what a window itself costs; 0 takes
        none.
    """

    seconds: float = 2.0
    seed: int = 0
    window_ns: int | None = None
    warmup_ns: int = 200_000_000
    look_pairs: int = 32
    first_look: int = 128
    min_pairs: int = 12
    max_pairs: int = 4096
    settled_half_width: float = 0.02
    half_width: float = 0.005
    min_effective: float = 100.0
    mode: Mode = Mode.WARM
    probe_drop: float = 0.03
    obeys_probe: bool = False
    retries: int = 3
    cool_ns: int = 2_000_000_000
    long_windows: int = 7

    def window_ns_on(self, *, own_clock: bool) -> int:
        """Least length of a window on a device with or without a clock of its own."""
        if self.window_ns is not None:
            return self.window_ns
        return GPU_WINDOW_NS if own_clock else WINDOW_NS
