"""The work of a dispatch from the counts of its source, for code that cannot be simulated.

Counts of the source are before any optimisation: integer operations are scaled, and latencies
follow from the accesses of the busiest thread. Constants without another source were chosen before
the calibration (`benchmarks/apple_model.py`) and are not fitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from metalbench.chips import SIMD_WIDTH
from metalbench.profiling.counts import TRANSACTION_BYTES, DispatchCounts
from metalbench.profiling.gpu_work import DispatchWork
from metalbench.profiling.instruction_costs import DIVIDE, DIVIDE_INTEGER, MATRIX_PRODUCT, REDUCE

# The share of integer operations of the source that an optimiser leaves.
_INTEGER_SHARE = 0.35
# Slots and complex cycles of a special function, the middle of instruction_costs.FUNCTIONS.
_SPECIAL_SLOTS, _SPECIAL_COMPLEX = 2.0, 6.0
_ACCESS_SLOTS = 2.0
# Cycles from an instruction to the next of a chain, and reads of a thread that overlap.
_CHAIN_CYCLES, _OVERLAP = 2.0, 4.0
_LEAST_MISSES = 0.15
_HALVES = 64.0


def make_counted_work(counts: Mapping[str, float], groups: float, tgmem: float) -> DispatchWork:
    """Return the work of counts by the names of `Counts` and `DispatchCounts`.

    `groups` are the threadgroups, `tgmem` the bytes of threadgroup memory of one of them.
    """
    simdgroups = max(1.0, counts["simdgroups"])

    def per_simdgroup(*names: str) -> float:
        return sum(counts[name] for name in names) / SIMD_WIDTH / simdgroups

    divergence = counts["lane_slots"] / max(1.0, counts["lanes"])
    floats = per_simdgroup("float_add", "float_multiply", "float_fma", "float_compare")
    divisions, special = per_simdgroup("float_divide"), per_simdgroup("float_special")
    integer_divisions = per_simdgroup("integer_divide")
    accesses = per_simdgroup(
        "device_reads", "device_writes", "threadgroup_reads", "threadgroup_writes"
    )
    operations = counts["simdgroup_operations"] / simdgroups
    slots = divergence * (
        floats
        + _INTEGER_SHARE * per_simdgroup("integer")
        + DIVIDE.slots * divisions
        + _SPECIAL_SLOTS * special
        + DIVIDE_INTEGER.slots * integer_divisions
    )
    slots += _ACCESS_SLOTS * accesses + REDUCE.slots * operations
    slots += MATRIX_PRODUCT.slots * counts["matrix_multiplies"] / simdgroups
    complex_ = divergence * (
        DIVIDE.complex * divisions + _SPECIAL_COMPLEX * special + 20 * integer_divisions
    )
    lines = counts["device_transactions"] / simdgroups
    nbytes = (counts["device_bytes_read"] + counts["device_bytes_written"]) / simdgroups
    unique = counts["unique_bytes_read"] + counts["unique_bytes_written"]
    moved = TRANSACTION_BYTES * max(1.0, counts["device_transactions"])
    chain = _CHAIN_CYCLES * slots + 20 * operations
    return DispatchWork(
        threadgroups=groups,
        simdgroups=simdgroups / groups,
        active_lanes=1 / divergence,
        slots=slots,
        complex=complex_ + 10 * operations,
        path_alu=chain,
        path_in_order=chain,
        path_device=counts["most_device_reads"] / _OVERLAP,
        path_threadgroup=counts["most_threadgroup_reads"] / _OVERLAP,
        barriers=counts["barriers"] / simdgroups,
        l1_cycles=max(lines, nbytes / 64),
        device_lines=lines,
        l1_misses=min(1.0, max(unique / moved, _LEAST_MISSES)),
        threadgroup_cycles=counts["bank_turns"] / simdgroups,
        conflicts=counts["contended"] / simdgroups,
        halves=_HALVES,
        threadgroup_bytes=tgmem,
        unique_read=counts["unique_bytes_read"],
        unique_written=counts["unique_bytes_written"],
    )


def work_of_dispatch(counts: DispatchCounts, groups: int, tgmem: int) -> DispatchWork:
    """Return the work of a counted dispatch."""
    found = {name: float(value) for name, value in asdict(counts.total).items()}
    for name in ("simdgroups", "lanes", "lane_slots", "unique_bytes_read", "unique_bytes_written"):
        found[name] = float(getattr(counts, name))
    for name in ("most_device_reads", "most_threadgroup_reads"):
        found[name] = float(getattr(counts, name))
    return make_counted_work(found, groups, tgmem)
