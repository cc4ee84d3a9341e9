"""The work of one dispatch, as an Apple GPU sees it: the input of the timing model.

It is measured by running sampled threadgroups of the optimised code (`simt.py`). Sums are of one
SIMD-group on average.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from metalbench.chips import SIMD_WIDTH
from metalbench.msl.analysis.analysed_code import LocatedCode
from metalbench.profiling.instruction_costs import CODE_BYTES, CostModel, measure_pressure
from metalbench.profiling.lane_code import LaneCode
from metalbench.profiling.simt import LINE_BYTES, LaunchSizes, SimulatedGroups

# Lines of the L1 cache (8 KiB a core: philipturner/metal-benchmarks, "On-Chip Memory").
L1_LINES = 64
# The most registers of a thread (applegpu: 128 of 32 bits).
ALL_HALVES = 256
SCHEDULERS = 4  # of a core


@dataclass
class DispatchWork:
    """Counts of one dispatch. Those without another unit are of one SIMD-group on average.

    `slots` and `complex` are cycles of a scheduler, `path_*` the longest path of dependent
    instructions: cycles of arithmetic, and loads by address space. `l1_cycles` are cycles of a
    core's data path, 64 bytes or one line each; `device_lines` are lines of 128 bytes of device
    memory, `l1_misses` the share of lines that one threadgroup alone finds not in L1.
    """

    threadgroups: float = 1.0
    simdgroups: float = 1.0  # in a threadgroup
    active_lanes: float = 1.0  # share of lanes
    slots: float = 0.0
    complex: float = 0.0
    path_alu: float = 0.0
    path_in_order: float = 0.0
    path_device: float = 0.0
    path_constant: float = 0.0
    path_threadgroup: float = 0.0
    path_private: float = 0.0
    barriers: float = 0.0
    l1_cycles: float = 0.0
    device_lines: float = 0.0
    device_lines_written: float = 0.0
    l1_misses: float = 1.0
    private_lines: float = 0.0
    private_bytes: float = 0.0  # of a thread
    threadgroup_cycles: float = 0.0
    atomics: float = 0.0
    conflicts: float = 0.0
    halves: float = 32.0  # registers of 16 bits of a thread
    spilled_lines: float = 0.0
    loaded_again: float = 0.0  # loads that are repeated, as registers are missing
    threadgroup_bytes: float = 0.0
    unique_read: float = 0.0  # bytes of the dispatch
    unique_written: float = 0.0  # bytes of the dispatch
    code_bytes: float = 0.0
    missed_code: float = 0.0  # executed instructions of loops that exceed the instruction cache

    def record(self) -> dict[str, float]:
        """Return the fields as JSON values."""
        return asdict(self)

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> DispatchWork:
        """Return the work of a record; unknown fields are ignored."""
        names = {each.name for each in fields(DispatchWork)}
        return DispatchWork(
            **{name: float(value) for name, value in record.items() if name in names}
        )


def _add_registers(work: DispatchWork, costs: CostModel, executions: Any) -> None:
    """Add the registers of a thread, and the values that do not fit.

    A step with more live values than registers reads the others each time that it is run: results
    from private memory, and loaded values from where they were loaded.
    """
    pressure = measure_pressure(costs)
    work.halves = max((each.halves for each in pressure), default=0)
    for each, runs in zip(pressure, executions, strict=True):
        computed = max(0, each.computed_halves - ALL_HALVES) / 2
        excess = max(0, each.halves - ALL_HALVES) / 2
        spilled = min(computed, each.words_read)
        loaded = min(excess, each.words_read) - spilled
        work.spilled_lines += runs * spilled
        work.loaded_again += runs * loaded


def count_hits(trace: np.ndarray[Any, Any], lines: int) -> float:
    """Return the share of a trace of lines that is in a cache of the last `lines` used ones."""
    if not trace.size:
        return 0.0
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for line in trace.tolist():
        if line in cache:
            hits += 1
            cache.move_to_end(line)
        else:
            cache[line] = None
            if len(cache) > lines:
                cache.popitem(last=False)
    return hits / trace.size


def measure_work(code: LaneCode, sample: SimulatedGroups, sizes: LaunchSizes) -> DispatchWork:
    """Return the work of a dispatch from a sample of its threadgroups."""
    groups = int(np.prod(sizes.groups))
    simdgroups = max(1, sample.simdgroups)
    spaces = {number: each.space for number, each in enumerate(sample.sites)}
    costs = CostModel(code, spaces)
    work = DispatchWork(
        threadgroups=groups,
        simdgroups=simdgroups / sample.groups,
        threadgroup_bytes=code.threadgroup_bytes + sum(sizes.dynamic.values()),
        private_bytes=code.frame_bytes,
    )
    executions = sample.steps[:, 0] / simdgroups
    slots_of_lanes = float(sample.steps[:, 0].sum()) * SIMD_WIDTH
    work.active_lanes = float(sample.steps[:, 1].sum()) / max(1.0, slots_of_lanes)
    for step, cost, runs in zip(code.steps, costs.steps, executions, strict=True):
        work.slots += cost.slots * runs
        work.complex += cost.complex * runs
        work.path_alu += cost.path.alu * runs
        work.path_in_order += cost.in_order * runs
        for space, count in cost.path.loads.items():
            name = f"path_{space}"
            setattr(work, name, getattr(work, name) + count * runs)
        work.barriers += runs * step.ends_at_barrier
    _add_accesses(work, code, sample, executions)
    work.l1_misses = 1 - count_hits(sample.trace, L1_LINES)
    _add_footprint(work, sample, groups)
    _add_registers(work, costs, executions)
    _add_code(work, code, costs, executions)
    return work


def _add_accesses(
    work: DispatchWork, code: LaneCode, sample: SimulatedGroups, executions: Any
) -> None:
    """Add the accesses of all sites, each as often as its step."""
    for step, runs in zip(code.steps, executions, strict=True):
        for number in step.sites:
            site = sample.sites[number]
            if not site.simdgroups or not runs:
                continue
            # Of one access of a SIMD-group.
            share = 1.0 / site.simdgroups
            lines, words, turns = (share * each for each in (site.lines, site.words, site.turns))
            kind = code.sites[number].kind
            if site.space in ("device", "constant"):
                work.device_lines += runs * lines
                work.l1_cycles += runs * max(lines, words / 16)
                if kind != "read":
                    work.device_lines_written += runs * lines
                if kind == "atomic":
                    work.atomics += runs * site.lanes * share
                    work.conflicts += runs * site.conflicts * share
            elif site.space == "private":
                # Apple interleaves the memory of threads: a SIMD-group's access is dense.
                dense = max(1.0, code.sites[number].nbytes / 4)
                work.private_lines += runs * dense
                work.l1_cycles += runs * 2 * dense
            elif site.space == "threadgroup":
                work.threadgroup_cycles += runs * turns
                if kind == "atomic":
                    work.conflicts += runs * site.conflicts * share


def _add_footprint(work: DispatchWork, sample: SimulatedGroups, groups: int) -> None:
    """Estimate the distinct bytes of the whole dispatch from those of the sample, by buffer.

    If threadgroups read the same lines, more of them add few: the exponent of the growth is that
    from one threadgroup to the sample. A buffer has no more bytes than its size.
    """
    scale = groups / sample.groups
    for index, nbytes in sample.buffer_bytes.items():
        lines, of_group = sample.lines_read[index], max(1, sample.group_lines_read[index])
        exponent = 1.0
        if sample.groups > 1 and lines:
            exponent = min(1.0, np.log(max(1.0, lines / of_group)) / np.log(sample.groups))
        work.unique_read += min(nbytes, LINE_BYTES * lines * scale**exponent)
        work.unique_written += min(nbytes, LINE_BYTES * sample.lines_written[index] * scale)


def _add_code(work: DispatchWork, code: LaneCode, costs: CostModel, executions: Any) -> None:
    """Add the size of the code, and executions of loops that the instruction cache cannot hold."""
    work.code_bytes = CODE_BYTES * sum(each.instructions for each in costs.steps)
    loops: dict[int, float] = {}
    for step, cost in zip(code.steps, costs.steps, strict=True):
        loop = code.flow.loop_of.get(step.block)
        while loop is not None:
            loops[id(loop)] = loops.get(id(loop), 0.0) + CODE_BYTES * cost.instructions
            loop = loop.parent
    for step, cost, runs in zip(code.steps, costs.steps, executions, strict=True):
        loop = code.flow.loop_of.get(step.block)
        size = loops[id(loop)] if loop is not None else work.code_bytes
        if size > INSTRUCTION_CACHE_BYTES:
            work.missed_code += cost.instructions * runs


# A core's instruction cache (philipturner/metal-benchmarks, "On-Chip Memory").
INSTRUCTION_CACHE_BYTES = 12 << 10


def count_line_cycles(
    code: LaneCode, sample: SimulatedGroups, located: LocatedCode
) -> dict[tuple[str, int], dict[str, float]]:
    """Return the share of all cycles of each file and line, by cause.

    Causes are those of predicted times: issue, complex, and of an access what takes most of it, its
    lines (L2), its words (data path) or its bank conflicts (threadgroup memory).
    """
    costs = CostModel(code, {number: each.space for number, each in enumerate(sample.sites)})
    accesses = {id(site.instruction): number for number, site in enumerate(code.sites)}
    cycles: dict[tuple[str, int], dict[str, float]] = {}
    for step, runs in zip(code.steps, sample.steps[:, 0], strict=True):
        for each in step.instructions:
            place = located.locate(each) if runs else None
            if place is None:
                continue
            own = costs.cost_of(each)
            spent = {"issue": own.slots / SCHEDULERS, "complex": own.complex / SCHEDULERS}
            site = sample.sites[accesses[id(each)]] if id(each) in accesses else None
            if site is not None and site.simdgroups and site.space != "launch":
                parts = {
                    "L2": site.lines,
                    "data path": site.words / 16,
                    "threadgroup memory": site.turns,
                }
                cause = max(parts, key=lambda name: parts[name])
                spent[cause] = parts[cause] / site.simdgroups
            of_line = cycles.setdefault(place, {})
            for cause, several in spent.items():
                if several:
                    of_line[cause] = of_line.get(cause, 0.0) + several * float(runs)
    total = sum(sum(each.values()) for each in cycles.values()) or 1.0
    return {
        place: {cause: each / total for cause, each in of_line.items()}
        for place, of_line in cycles.items()
        if of_line
    }
