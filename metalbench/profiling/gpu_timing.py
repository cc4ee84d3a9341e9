"""Predict the time of dispatches on an Apple GPU from their work.

A core runs its threadgroups in rounds of as many as are resident. The time of a round is at least
the longest path of one SIMD-group (latency), and at least the work of all of them on each unit of
the core (schedulers, data path, threadgroup memory, the link to L2) and of the GPU (SLC, memory).
These bounds are joined by a p-norm, because the units overlap only in part. A dispatch has a fixed
cost in addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from metalbench.chips import SIMD_WIDTH
from metalbench.profiling.gpu_chips import GpuChip
from metalbench.profiling.gpu_work import ALL_HALVES, SCHEDULERS, DispatchWork

Array = np.ndarray[Any, np.dtype[np.float64]]
# A core's register file holds 208 KiB, of which a thread takes its registers; at most 3072 threads
# (philipturner/metal-benchmarks; Mesa's agx_performance.c has the same steps).
REGISTER_FILE_BYTES, MOST_THREADS = 208 << 10, 3072
# Threadgroup memory of a core (philipturner/metal-benchmarks: about 60 KB).
THREADGROUP_BYTES = 60 << 10
L1_BYTES = 8 << 10
LOAD_SLOTS = 2.0  # a load and a wait
MOST_HALVES = ALL_HALVES


@dataclass(frozen=True)
class Parameters:
    """Parameters without a source: latencies and costs in cycles of a core, fixed costs in seconds.

    `issue`, `data_path`, `l2_link`, `bank` multiply the cycles that the sources give. `scheduling`
    is the share of waits for operands that a compiler removes by another order of instructions.
    """

    alu_latency: float = 1.5
    scheduling: float = 0.5
    l1_latency: float = 100.0
    l2_latency: float = 250.0
    constant_latency: float = 30.0
    threadgroup_latency: float = 30.0
    private_latency: float = 150.0
    barrier_latency: float = 30.0
    issue: float = 1.3
    complex: float = 1.0
    data_path: float = 1.0
    l2_link: float = 1.0
    private_link: float = 1.0
    bank: float = 1.0
    conflict: float = 4.0
    spill: float = 1.0
    spill_latency: float = 10.0
    missed_instruction: float = 0.5
    threadgroup_start: float = 100.0
    slc: float = 1.0
    norm: float = 3.0
    dispatch_s: float = 2e-6
    command_buffer_s: float = 5e-6

    def vector(self) -> Array:
        """Return the logarithms of all parameters."""
        return np.log([getattr(self, each.name) for each in fields(self)])

    @staticmethod
    def from_vector(vector: Array) -> Parameters:
        """Return the parameters of their logarithms."""
        names = [each.name for each in fields(Parameters)]
        return Parameters(**dict(zip(names, np.exp(vector).tolist(), strict=True)))


class WorkTable:
    """The work of many dispatches as arrays, by the names of the fields of `DispatchWork`."""

    def __init__(self, works: Sequence[DispatchWork]) -> None:
        for each in fields(DispatchWork):
            setattr(self, each.name, np.array([getattr(work, each.name) for work in works], float))

    def __getattr__(self, name: str) -> Array:
        raise AttributeError(name)


def count_resident_threads(halves: Array) -> Array:
    """Return the most threads of a core for registers of 16 bits of a thread, in SIMD-groups."""
    halves = np.maximum(np.minimum(halves, MOST_HALVES), 1)
    threads = np.floor(REGISTER_FILE_BYTES / (2 * halves) / SIMD_WIDTH) * SIMD_WIDTH
    found: Array = np.minimum(threads, MOST_THREADS)
    return found


def count_resident_groups(work: WorkTable) -> Array:
    """Return how many threadgroups a core holds at once, at least one."""
    threads = SIMD_WIDTH * np.ceil(work.simdgroups)
    by_registers = np.floor(count_resident_threads(work.halves) / np.maximum(threads, SIMD_WIDTH))
    by_memory = np.floor(THREADGROUP_BYTES / np.maximum(work.threadgroup_bytes, 1))
    found: Array = np.maximum(1, np.minimum(by_registers, by_memory))
    return found


def predict_parts(table: WorkTable, chip: GpuChip, parameters: Parameters) -> dict[str, Array]:
    """Return the time in seconds of each bound of each dispatch, and `dispatch`, the fixed cost."""
    w, p = table, parameters
    # Threadgroups of the busiest core: the tail of a grid that the cores do not divide.
    on_core = np.ceil(w.threadgroups / chip.cores)
    resident = np.minimum(count_resident_groups(w), on_core)
    rounds = on_core / resident
    simdgroups = on_core * w.simdgroups

    spilled = p.spill * w.spilled_lines
    private_lines = w.private_lines + spilled
    private_bytes = w.private_bytes + 4 * np.minimum(
        w.spilled_lines, np.maximum(0, w.halves - MOST_HALVES) / 2
    )
    footprint = private_bytes * SIMD_WIDTH * w.simdgroups * resident
    private_misses = np.clip(1 - L1_BYTES / np.maximum(footprint, 1), 0, 1)

    scheduling = min(1.0, p.scheduling)
    device_latency = (1 - w.l1_misses) * p.l1_latency + w.l1_misses * p.l2_latency
    path = (
        p.alu_latency * (scheduling * w.path_alu + (1 - scheduling) * w.path_in_order)
        + device_latency * w.path_device
        + p.constant_latency * w.path_constant
        + p.threadgroup_latency * w.path_threadgroup
        + p.private_latency * (0.3 + private_misses) * w.path_private
        + p.spill_latency * w.spilled_lines
        + p.barrier_latency * w.barriers
    )
    missed = p.missed_instruction * w.missed_code
    issue = p.issue * (w.slots + LOAD_SLOTS * w.loaded_again) + missed
    cycles = {
        "latency": rounds * path + on_core * p.threadgroup_start,
        "issue": simdgroups * issue / SCHEDULERS,
        "complex": simdgroups * p.complex * w.complex / SCHEDULERS,
        "data path": simdgroups * p.data_path * (w.l1_cycles + 2 * spilled),
        "threadgroup memory": simdgroups * p.bank * (w.threadgroup_cycles + w.loaded_again),
        "L2": simdgroups * p.l2_link * 4 * w.device_lines * w.l1_misses,
        "private memory": simdgroups * p.private_link * 4 * private_lines * private_misses,
        "atomics": simdgroups * p.conflict * w.conflicts,
    }
    parts = {name: each / chip.clock_hz for name, each in cycles.items()}
    moved = w.unique_read + w.unique_written
    in_slc = moved <= chip.slc_bytes / 2
    bandwidth = np.where(in_slc, chip.slc_bytes_per_s, chip.dram_bytes_per_s)
    overflow = private_misses * private_lines * 128 * w.simdgroups * w.threadgroups
    private_footprint = footprint * np.minimum(chip.cores, w.threadgroups)
    beyond_l2 = np.clip(1 - chip.l2_bytes / np.maximum(private_footprint, 1), 0, 1)
    parts["memory"] = p.slc * (moved / bandwidth + overflow * beyond_l2 / chip.slc_bytes_per_s)
    parts["dispatch"] = np.full_like(moved, p.dispatch_s)
    return parts


def join_parts(parts: Mapping[str, Array], parameters: Parameters) -> Array:
    """Return the time of each dispatch: the p-norm of the bounds, and the fixed cost."""
    bounds = np.stack([each for name, each in parts.items() if name != "dispatch"])
    largest = np.maximum(bounds.max(axis=0), 1e-12)
    norm = ((bounds / largest) ** parameters.norm).sum(axis=0) ** (1 / parameters.norm)
    found: Array = largest * norm + parts["dispatch"]
    return found


def predict_seconds(table: WorkTable, chip: GpuChip, parameters: Parameters) -> Array:
    """Return the time in seconds of each dispatch, without the cost of the command buffer."""
    return join_parts(predict_parts(table, chip, parameters), parameters)
