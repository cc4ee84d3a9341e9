"""Estimate the time of counted work on an Apple GPU, from published figures, uncalibrated.

No Mac has confirmed it. As in a roofline (Williams, Waterman, Patterson, CACM 52, 2009) the slowest
resource decides. For memory there are two bounds: perfect caches, and no caches.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalbench.chips import CHIPS, TFLOPS_OF_A_CORE, Chip
from metalbench.counting.counts import TRANSACTION_BYTES, Counts
from metalbench.errors import DeclarationError, suggestion
from metalbench.profiling.counted_run import Profile

# The cost of a division or a special function, in additions.
SPECIAL_COST = 4


@dataclass(frozen=True)
class Estimate:
    """The lower and the upper bound of the time in s, and the bounding resource of each.

    `assumptions` are sentences that every report must print with the numbers.
    """

    chip: Chip
    least_s: float
    most_s: float
    least_bound: str
    most_bound: str
    assumptions: tuple[str, ...]


def find_chip(name: str) -> Chip:
    """Return a chip by a name such as `m4` or `m4_max`; raises DeclarationError."""
    chip = CHIPS.get(name.lower().replace(" ", "_").replace("-", "_"))
    if chip is None:
        raise DeclarationError(f"--chip: unknown chip {name!r}; {suggestion(name, CHIPS)}")
    return chip


def estimate_time(profile: Profile, chip: Chip) -> Estimate:
    """Estimate the time of a profiled kernel on a chip with all of its cores."""
    least, most = 0.0, 0.0
    bounds: list[dict[str, float]] = [{}, {}]
    for counts, occupancy in zip(profile.dispatches, profile.occupancy, strict=True):
        across, down, deep = occupancy.threadgroups
        share = min(1.0, across * down * deep / chip.cores)
        arithmetic = _operations(counts.total) / (chip.flops_per_s * share)
        unique = counts.unique_bytes_read + counts.unique_bytes_written
        moved = counts.total.device_transactions * TRANSACTION_BYTES
        bandwidth = 1e9 * chip.bandwidths[chip.cores]
        for end, size in zip(bounds, (unique, moved), strict=True):
            memory = size / bandwidth
            bound = "memory" if memory >= arithmetic else "arithmetic"
            end[bound] = end.get(bound, 0.0) + max(memory, arithmetic)
        least += max(unique / bandwidth, arithmetic)
        most += max(moved / bandwidth, arithmetic)
    first, second = (max(end, key=lambda each: end[each], default="memory") for end in bounds)
    return Estimate(chip, least, most, first, second, _assumptions(chip))


def _operations(counts: Counts) -> int:
    dear = counts.float_divide + counts.float_special + counts.integer_divide
    cheap = counts.flops - counts.float_divide - counts.float_special
    return cheap + counts.float_compare + counts.integer + SPECIAL_COST * dear


def _assumptions(chip: Chip) -> tuple[str, ...]:
    rate = (
        f"{chip.tflops:g} TFLOP/s ({chip.source})"
        if chip.tflops is not None
        else f"{chip.flops_per_s / 1e12:.3g} TFLOP/s, as Apple has published no rate: "
        f"{TFLOPS_OF_A_CORE:g} a core, that of the M2"
    )
    return (
        f"{chip.name} with {chip.cores} GPU cores, {chip.bandwidths[chip.cores]:g} GB/s "
        f"({chip.source}), {rate}.",
        "Least: caches keep every byte that was read once. Most: every transaction of 128 bytes "
        "goes to memory.",
        "Integer operations and comparisons take as long as additions, divisions and special "
        f"functions {SPECIAL_COST} times as long; those of the source, before any optimisation.",
        "Fewer threadgroups than cores leave cores idle. Launches, latency, bank conflicts and "
        "atomics that wait are not in it.",
    )
