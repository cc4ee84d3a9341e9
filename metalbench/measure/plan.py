"""What a measurement may cost and what it wants to reach."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how finely to sample.

    Attributes
    ----------
    seconds
        Limit of the measurement's time, warm-up excluded.
    seed
        Of the order of candidate and reference within each pair.
    window_ns
        Least length of a sample: a window of K passes, K as small as reaches it.
    warmup_ns
        Least warm-up before the first sample.
    first_look
        Pairs after which the intervals are looked at first; then at twice as many, and so on.
        Looking after every pair would stop at lucky moments.
    min_pairs
        Taken even if they exceed `seconds`, for fewer carry no interval; but a kernel for which
        these would take more than four times as long gets as few as three.
    max_pairs
        Never more than these.
    half_width
        Relative half-width of the intervals that is precise enough.
    min_effective
        Independent samples (n / tau) that are enough.
    """

    seconds: float = 2.0
    seed: int = 0
    window_ns: int = 1_000_000
    warmup_ns: int = 200_000_000
    first_look: int = 64
    min_pairs: int = 12
    max_pairs: int = 4096
    half_width: float = 0.005
    min_effective: float = 100.0
