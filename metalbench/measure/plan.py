"""Limits and precision of a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

WINDOW_NS = 1_000_000
# Wall time includes submission to the GPU and back, up to 0.1 ms: a small part of a window.
GPU_WINDOW_NS = 15_000_000


class Mode(str, Enum):
    """The state of the caches when a pass begins. Times of different modes do not compare.

    WARM passes use the same buffers, so that data that fits stays in the caches. COLD passes rotate
    over copies that are together at least three times the last-level cache.
    """

    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, slots=True)
class Plan:
    """Limits and precision of a measurement.

    Attributes
    ----------
    seconds
        Time limit, without the first warm-up.
    seed
        Seed of the order of candidate and reference within each pair.
    window_ns
        Least time of a window; its length is the smallest number of passes that takes this time.
        None for `WINDOW_NS`, or `GPU_WINDOW_NS` on a device with its own clock.
    warmup_ns
        Least warm-up before the first sample; after an exchange of inputs a twentieth of it.
    batch_pairs
        Pairs of a batch, which have the same inputs. A kernel so slow that a batch would take more
        than an eighth of `seconds` has fewer, but at least four. All batches have the same number.
    first_analysis
        Pairs before the first analysis, rounded up to whole batches, at most four batches. Each
        later analysis has half as many pairs more. Analysing after every pair would stop at chance
        results.
    min_pairs
        Least pairs, even if they exceed `seconds`: fewer have no interval. A kernel for which they
        would take more than four times `seconds` gets as few as eight. If all pairs say by far
        which side is faster when the time is up, five are enough.
    max_pairs
        Most pairs.
    settled_half_width
        Relative half-width of the time's interval that is enough once the verdict is settled. After
        half of `seconds` any width is.
    half_width
        Relative half-width of the intervals that is enough for every verdict.
    min_effective
        Independent samples (n / tau, the autocorrelation time) that this needs.
    mode
        Warm or cold.
    probe_drop
        Relative slowdown of a probe against the best one that shows a lower clock, on a device with
        its own clock. On other devices, load of other programs has the same effect.
    obeys_probe
        Whether pairs at a lower clock are dropped until it has recovered, and a clock that does not
        recover gives THROTTLED. Off, because the clocks of real GPUs have not been studied yet.
    retries
        Rests after throttling, before giving up.
    cool_ns
        Length of a rest after throttling.
    long_windows
        Windows of four times the passes, of both sides, at the end, to estimate the fixed cost of a
        window; 0 for none.
    """

    seconds: float = 2.0
    seed: int = 0
    window_ns: int | None = None
    warmup_ns: int = 200_000_000
    batch_pairs: int = 32
    first_analysis: int = 128
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
        """Return the least time of a window on a device with or without its own clock."""
        if self.window_ns is not None:
            return self.window_ns
        return GPU_WINDOW_NS if own_clock else WINDOW_NS
