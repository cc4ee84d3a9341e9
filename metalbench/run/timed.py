"""Rotate buffers between the passes of a kernel, so that no pass finds its result in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import cache
from itertools import chain, count, islice, pairwise
from math import log
from time import process_time, sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from metalbench.devices import find_kind
from metalbench.finding_kinds import Kind
from metalbench.kernel.memory import GuardedBuffer
from metalbench.kernel.prepare import Bound, Compiled
from metalbench.measure.device_limits import (
    MIB,
    RotationPlan,
    create_memory_probe,
    create_parallel_probe,
    create_probe,
    last_level_cache_bytes,
    plan_rotation,
    warn_of_two_sets,
)
from metalbench.measure.measurement import FormTime, Measurement, Plan, TimingMode
from metalbench.measure.sampling import Progress, Sides, measure
from metalbench.store.environment import memory_bytes
from metalbench.task import Task
from metalbench.task.workload import Arrays, Workload, workload
from metalbench.verify import TIME_LIMIT
from metalbench.verify.examine import Examiner, ReferenceErrors, compare_with_fresh_memory
from metalbench.verify.report import Finding, Report

if TYPE_CHECKING:
    from metalbench._core import Device, Dispatch
    from metalbench.reference import Reference
    from metalbench.run.reference_forms import FormChoice


@dataclass
class BufferRotation:
    """The passes of a kernel over several sets of inputs and outputs.

    Before a pass, its outputs hold the results of other inputs. Each of `rounds` is a list of
    passes that writes every set of outputs once. WARM mode has two sets of inputs and one of
    outputs. COLD mode has as many copies of both as exceed the last-level cache. An input that the
    kernel updates in place holds the result of the last pass on it, which a further update repeats.
    `doubts` are warnings about the times. `exchanges` is the number of the last batch whose inputs
    were exchanged.
    """

    device: Device
    rounds: list[list[Bound]]
    reference_errors: ReferenceErrors = field(default_factory=ReferenceErrors)
    doubts: tuple[str, ...] = ()
    exchanges: int = 0

    @classmethod
    def of(
        cls,
        compiled: Compiled,
        work: Workload,
        mode: TimingMode,
        reference_errors: ReferenceErrors | None = None,
    ) -> BufferRotation:
        """Bind a kernel to `work` and to a workload of another seed; in COLD mode to copies.

        `reference_errors` are the known errors of the reference at that size.
        """
        sizes = _PassSizes.of(compiled, work)
        if mode is TimingMode.COLD:
            plan = plan_rotation(sizes.inputs + sizes.outputs, sizes.cache, sizes.memory)
        else:
            doubt = warn_of_two_sets(sizes.inputs, sizes.outputs, sizes.cache, sizes.memory)
            plan = RotationPlan(1, doubt)
        known = ReferenceErrors() if reference_errors is None else reference_errors
        doubts = (plan.doubt,) if plan.doubt is not None else ()
        return cls(compiled.device, _bind_rounds(compiled, work, plan.copies), known, doubts)

    def bind_another(self, compiled: Compiled) -> BufferRotation:
        """Return the passes of another kernel for the same task, in the same inputs and outputs.

        If one of the kernels updates inputs in place, the other one gets other buffers.
        """
        apart = bool(self.bound.inouts) or bool(compiled.kernel.inouts)
        own: dict[int, Mapping[str, GuardedBuffer]] = {}
        memory: dict[int, tuple[Mapping[str, GuardedBuffer], Mapping[str, GuardedBuffer]]] = {}

        def bind(each: Bound) -> Bound:
            inputs, place = each.inputs, id(each.scratches)
            if apart:
                if id(inputs) not in own:
                    own[id(inputs)] = compiled.inputs(each.workload)
                inputs = own[id(inputs)]
            if place not in memory:
                outputs = compiled.outputs(each.workload) if apart else each.outputs
                memory[place] = outputs, compiled.scratches(each.workload)
            return compiled.bind_buffers(each.workload, inputs, *memory[place])

        return replace(self, rounds=[[bind(each) for each in part] for part in self.rounds])

    @property
    def bound(self) -> Bound:
        """The first pass: the kernel in its buffers."""
        return self.rounds[0][0]

    @property
    def passes(self) -> list[Bound]:
        """The passes of a timing window, in order."""
        return [each for each_round in self.rounds for each in each_round]

    @property
    def dispatches(self) -> list[Dispatch]:
        """The dispatches of all passes, in order."""
        return [dispatch for each in self.passes for dispatch in each.dispatches]

    @property
    def workloads(self) -> list[Workload]:
        """The workloads of the passes, each once."""
        found: dict[int, Workload] = {}
        for each in self.passes:
            found.setdefault(each.workload.seed, each.workload)
        return list(found.values())

    def exchange_inputs(self, batch: int) -> None:
        """Replace all inputs by new ones of the same distributions, and poison the scratch."""
        before = self.workloads
        task, size, kind = before[0].task, before[0].size, before[0].dtype.name
        seeds = like_seeds(task, max(each.seed for each in before))
        after = {
            each.seed: workload(task, size, dtype_name=kind, seed=seed)
            for each, seed in zip(before, seeds, strict=False)
        }
        loaded: set[int] = set()

        def load(each: Bound) -> Bound:
            if id(each.inputs) in loaded:  # a pass of another round has the same inputs
                return replace(each, workload=after[each.workload.seed])
            loaded.add(id(each.inputs))
            return each.load(after[each.workload.seed])

        self.rounds = [[load(each) for each in each_round] for each_round in self.rounds]
        self.exchanges = batch
        self._poison_scratch()

    def adopt_inputs(self, other: BufferRotation) -> None:
        """Adopt the inputs that another kernel's rotation has written to the shared buffers.

        Buffers that are not shared get the same contents.
        """
        self.exchanges = other.exchanges
        loaded: set[int] = set()

        def adopt(mine: Bound, theirs: Bound) -> Bound:
            if mine.inputs is theirs.inputs or id(mine.inputs) in loaded:
                return replace(mine, workload=theirs.workload)
            loaded.add(id(mine.inputs))
            return mine.load(theirs.workload)

        self.rounds = [
            [adopt(mine, theirs) for mine, theirs in zip(*rounds, strict=True)]
            for rounds in zip(self.rounds, other.rounds, strict=True)
        ]
        self._poison_scratch()

    def _poison_scratch(self) -> None:
        """Overwrite the contents that earlier passes left in scratch memory."""
        for each in {id(bound.scratches): bound.scratches for bound in self.passes}.values():
            for scratch in each.values():
                scratch.poison(self.exchanges)

    def run(self) -> None:
        """Run every pass once."""
        self.device.run(self.dispatches, time_limit=TIME_LIMIT)

    def judge_last_window(self) -> Report:
        """Judge the outputs of the last window, and those of a further round after it.

        The oracle judges one output of each set of inputs; the others must equal it. Outputs of the
        further round must equal those of runs in poisoned memory. A kernel so slow that its inputs
        were never exchanged runs once more, on new inputs.
        """
        if self.exchanges == 0:
            self.exchange_inputs(1)
            self.run()
        report = self._judge_round(self.rounds[-1])
        for each in self.rounds[0]:
            if report.passed:
                report += Report(tuple(compare_with_fresh_memory(self.examiner(each))))
        return report

    def judge_new_inputs(self, work: Workload) -> Report:
        """Run once more in the same buffers, poisoned, on the inputs of `work`; judge that."""
        return self.examiner(self.bound.load(work)).examine()

    def _judge_round(self, each_round: list[Bound]) -> Report:
        report = Report()
        judged: dict[int, Bound] = {}
        for each in each_round:
            first = judged.setdefault(each.workload.seed, each)
            if report.passed and (each is first or not _hold_same_values(each, first)):
                report += self.examiner(each).judge_last_run()
        return report

    def examiner(self, bound: Bound) -> Examiner:
        """Return an examiner of one of the passes."""
        return Examiner(bound, self.device, TIME_LIMIT, self.reference_errors)


def _bind_rounds(compiled: Compiled, work: Workload, copies: int) -> list[list[Bound]]:
    """Bind two rounds whose passes alternate between two workloads, in `copies` sets of outputs."""
    others = like_seeds(work.task, work.seed)
    other = workload(work.task, work.size, dtype_name=work.dtype.name, seed=next(others))
    first = [compiled.bind((work, other)[place % 2]) for place in range(copies)]
    if copies == 1:
        (bound,) = first
        inputs = compiled.inputs(other)
        return [first, [compiled.bind_buffers(other, inputs, bound.outputs, bound.scratches)]]
    # An even number, so that neighbours have different inputs.
    first += [compiled.bind(other)] if copies % 2 else []
    shifted = [*first[1:], first[0]]
    second = [
        compiled.bind_buffers(neighbour.workload, neighbour.inputs, bound.outputs, bound.scratches)
        for neighbour, bound in zip(shifted, first, strict=True)
    ]
    return [first, second]


def like_seeds(task: Task, seed: int, *, skipped: int = 0) -> Iterator[int]:
    """Yield seeds after `seed` whose inputs have the same distributions, and so the same cost.

    The first `skipped` integers after `seed` are left out.
    """
    kinds = [each.variation(seed) for each in task.inputs.values()]
    return (
        other
        for other in count(seed + 1 + skipped)
        if [each.variation(other) for each in task.inputs.values()] == kinds
    )


@dataclass(frozen=True)
class _PassSizes:
    """Sizes in bytes: inputs and outputs of a pass, last-level cache, and memory."""

    inputs: int
    outputs: int
    cache: int
    memory: int | None

    @classmethod
    def of(cls, compiled: Compiled, work: Workload) -> _PassSizes:
        task, device = work.task, compiled.device
        memory = device.capabilities.get("memory_bytes")
        updated = [task.inout[name] for name in compiled.kernel.inouts]
        inputs, outputs = (
            sum(
                math.prod(each.shape_at(work.values)) * each.type_in(work.dtype).nbytes
                for name, each in arrays.items()
                if name not in updated
            )
            for arrays in (task.inputs, task.outputs)
        )
        installed = int(memory) if isinstance(memory, int) else memory_bytes()
        return cls(inputs, outputs, _last_level_cache(device), installed)


def _last_level_cache(device: Device) -> int:
    """Return the bytes of the last-level cache of a device."""
    chip = device.chip if find_kind(device.kind).runs_mlx_on_metal else None
    l2_bytes = device.capabilities.get("l2_bytes")
    return int(l2_bytes) if isinstance(l2_bytes, int) else last_level_cache_bytes(chip)


def _hold_same_values(one: Bound, other: Bound) -> bool:
    """Return whether two copies hold the same inputs and outputs, with all guard zones intact."""
    held = {**one.inputs, **one.outputs}
    theirs = {**other.inputs, **other.outputs}
    intact = not any(each.broken_guard() for each in (*held.values(), *one.scratches.values()))
    return intact and all(each.holds(theirs[name].array) for name, each in held.items())


# Detect kernels that save work in timed windows, by times that they cannot distinguish.
#
# Timed windows repeat two sets of inputs many times. A kernel that keeps results between passes (in
# scratch, in an output, anywhere in its process), or that makes fewer passes than it is asked for,
# leaves right results behind. The audits do not look for the means. At random moments between timed
# windows they time single *rounds*, which make every pass of a window once, in three blocks:
#
# plain
# The inputs stay as they are.
# known
# The inputs are written again before each round, with the same contents. Those that the kernel
# updates in place get their updated contents again, as the passes of a window find them.
# new
# The inputs are written with contents that the kernel has never seen.
#
# All rounds are the same request to the device, whatever the kernel can read of its process. So a
# kernel has to decide without knowing the block, and each choice shows:
#
# * It saves work on known inputs, or on inputs that have been updated in place: new rounds take
#   longer than known ones.
# * It returns something else for inputs that it does not know: the oracle judges one new round of
# each audit, at random. To be fast in most new rounds it must be wrong in most of them.
# * It does all work in single rounds only: a plain round takes longer than a round of timed
#   windows.
#
# Other load must not condemn an honest kernel. So a suspicion is put to a sequential test: further
# audits are taken until enough of them say the same. Load meets all blocks alike, so new rounds of
# an honest kernel take longer than known ones with a probability of at most a half. A round alone
# meets what a window does not. A short round can end before the second core has woken up, in most
# of the rounds of a busy machine. Caches can lose the data between two requests: one threadgroup
# that read 8 MB took 0.15 ms a round within windows, and alone up to 1.0 ms, also in the sixth of
# several rounds. So two probes are timed alone and within windows, alternating with the kernel: one
# is as long and uses all cores, the other reads as much memory in as many threadgroups. The
# kernel's limit is raised by the first one's factor or difference, whichever is more, and by the
# second one's difference. A GPU that other processes use delays each request, short or long: by
# 0.8 ms with six of them on an H200. Both hypotheses need this process to treat all blocks alike.
# Numerical libraries keep threads spinning after a product of matrices, so nothing is judged before
# the last round of an audit.

Values = np.ndarray[Any, Any]
# Rounds of a block fill this time, within these numbers; of rounds as slow as this a block has one.
BLOCK_NS = 2e6
FEWEST_ROUNDS, MOST_ROUNDS = 4, 8
SLOW_ROUND_NS = 50e6
# Inputs of a block have at most this number of bytes, or those of one round: writing them takes
# longer than the rounds.
MOST_WRITTEN_BYTES = 256 * MIB
# Audits of every measurement; one for slow rounds or large inputs, which takes longer than many.
LEAST_AUDITS = 2
# New rounds may take longer than known ones by this factor: branch prediction gains a few percent
# on repeated inputs.
REUSE = 1.2
# A plain round may take longer than one in a window by this factor and time: a request has a cost,
# which a window's rounds share, and finds fewer data in the caches.
ALONE, ALONE_NS = 1.5, 80e3
# The sequential test of a suspicion (Wald 1945): probabilities that an audit of an honest kernel
# and of one that saves work confirms it, and those that the whole test condemns the one and misses
# the other. The test never condemns more honest kernels than that (Ville's inequality).
CONFIRMS_IF_HONEST, CONFIRMS_IF_SAVING = 0.5, 0.9
CONDEMNS_HONEST, MISSES_SAVING = 1e-4, 0.02
# A suspicion that is undecided after this number of audits is not confirmed.
MOST_CONFIRMING = 48
# After its last work OpenBLAS keeps threads spinning for about 0.1 s. They are waited for in steps,
# so long at most. A step is longer than the 4 ms in which some kernels count processor time.
STEP_S, SPINNING_S = 0.01, 0.3
# Elements that are mixed at once.
MIXED_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Audit:
    """Times in ns of single rounds by block, in order, and of rounds within windows.

    `probe_*_ns` are times of the probe on all cores. `memory_*_ns` are those of the probe of the
    memory. Both are taken alone, as plain rounds are, and within windows.
    """

    plain_ns: tuple[float, ...]
    known_ns: tuple[float, ...]
    new_ns: tuple[float, ...]
    window_ns: tuple[float, ...] = ()
    probe_alone_ns: tuple[float, ...] = ()
    probe_window_ns: tuple[float, ...] = ()
    memory_alone_ns: tuple[float, ...] = ()
    memory_window_ns: tuple[float, ...] = ()

    @property
    def reuse(self) -> float:
        """Return the time of new rounds over that of known ones: medians."""
        return float(np.median(self.new_ns) / np.median(self.known_ns))

    @property
    def probe_factor(self) -> float:
        """Return the time of the probe alone over that within windows, at least 1: minima."""
        if not self.probe_window_ns:
            return 1.0
        return max(1.0, min(self.probe_alone_ns) / min(self.probe_window_ns))

    @property
    def probe_delay_ns(self) -> float:
        """Return by how much the probe takes longer alone than within windows: minima."""
        if not self.probe_window_ns:
            return 0.0
        return max(0.0, min(self.probe_alone_ns) - min(self.probe_window_ns))

    @property
    def memory_ns(self) -> float:
        """Return by how much the probe of the memory takes longer alone than within windows."""
        if not self.memory_window_ns:
            return 0.0
        return max(0.0, float(np.median(self.memory_alone_ns)) - min(self.memory_window_ns))


@dataclass
class ReuseAudit:
    """Audits of one kernel in its buffers, taken between its timed windows."""

    rotation: BufferRotation
    random: np.random.Generator = field(default_factory=np.random.default_rng)
    audits: list[Audit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    _probes: list[tuple[list[Dispatch], int]] = field(default_factory=list)

    @property
    def _inputs(self) -> list[Bound]:
        """The first pass on each set of inputs."""
        return list({id(each.inputs): each for each in reversed(self.rotation.passes)}.values())[
            ::-1
        ]

    @property
    def _most_rounds(self) -> int:
        written = sum(buffer.nbytes for each in self._inputs for buffer in each.inputs.values())
        return max(1, MOST_WRITTEN_BYTES // max(written, 1))

    def run(self, *, window: int = 0) -> None:
        """Take one audit; afterwards the memory is as after a round of the timed passes.

        Unless `window` is 0, plain rounds alternate with windows of `window` rounds, and with the
        probes alone and within windows.
        """
        plain_ns, count = [self._time_round()], 1
        if plain_ns[0] < SLOW_ROUND_NS:
            plain_ns.append(self._time_round())
            count = int(np.clip(BLOCK_NS / min(plain_ns), FEWEST_ROUNDS, MOST_ROUNDS))
            count = min(count, self._most_rounds)
            plain_ns += [self._time_round() for _ in range(count - 2)]
        controls: list[list[float]] = []
        if window:
            if not self._probes:
                self._probes = self._create_probes(window)
            timed = ((self.rotation.dispatches, window), *self._probes)
            rows = [
                [
                    self._time(dispatches, rounds)
                    for dispatches, most in timed
                    for rounds in (1, most)
                ]
                for _ in range(count)
            ]
            plain_ns, *controls = map(list, zip(*rows, strict=True))
        draws = self._draw_workloads(2 * count)
        pairs = [draws[2 * place : 2 * place + 2] for place in range(count)]
        known = [_replace_updated_inputs(each) for each in self._inputs]
        known_ns, new_ns = [], []
        for pair in pairs:
            self._write_inputs(pair, known)
            known_ns.append(self._time_round())
        judged = int(self.random.integers(count))
        for place, pair in enumerate(pairs):
            # A mixture may lack what the task's inputs have, so the judged round has a draw.
            written = [pair[turn % 2] for turn in range(len(known))] if place == judged else None
            self._write_inputs(pair, written)
            new_ns.append(self._time_round())
            if written is not None:
                left = self._copy_memory(written)
        self._judge_round(*left)
        for each in self._inputs:
            each.load(each.workload)
        self.rotation.run()
        self.audits.append(Audit(*map(tuple, [plain_ns, known_ns, new_ns, *controls])))
        _await_idle_threads()

    def report(self, pass_ns: Values, window: int) -> Report:
        """Complete the audits; return a finding if the kernel saves work in timed windows.

        `pass_ns` are the times of one pass in timed windows, in ns; `window` is the number of
        rounds of a window. Other work, which had stopped for the timed windows, may run again, so
        the audits that confirm a suspicion time new windows.
        """
        timed_ns = len(self.rotation.passes) * float(np.quantile(pass_ns, 0.1))
        is_fast = timed_ns < SLOW_ROUND_NS and self._most_rounds > 1
        while len(self.audits) < (LEAST_AUDITS if is_fast else 1):
            self.run()
        total = _join(self.audits)
        suspected = total.reuse > REUSE or self._is_slower_alone(total, timed_ns)
        if suspected and not self.findings:
            said = self._confirm(window)
            if said:
                examiner = self.rotation.examiner(self.rotation.bound)
                self.findings.append(examiner.make_finding(Kind.LESS_WORK, said))
        return Report(tuple(self.findings[:1]))

    def _confirm(self, window: int) -> str:
        """Put a suspicion to the test; return what the last audit shows, or nothing.

        There are two hypotheses, each with its log-likelihood ratio. A wrong result ends the test.
        """
        shown_by = log(CONFIRMS_IF_SAVING / CONFIRMS_IF_HONEST)
        not_shown_by = log((1 - CONFIRMS_IF_SAVING) / (1 - CONFIRMS_IF_HONEST))
        hypotheses = [self._reuse, self._more_work_alone]
        condemned_from = -log(CONDEMNS_HONEST / len(hypotheses))
        ratios = [0.0] * len(hypotheses)
        for _ in range(MOST_CONFIRMING):
            self.run(window=window)
            if self.findings:
                break
            for place, shows in enumerate(hypotheses):
                said = shows(self.audits[-1])
                ratios[place] += shown_by if said else not_shown_by
                if ratios[place] >= condemned_from:
                    return said
            if max(ratios) <= log(MISSES_SAVING):
                break
        return ""

    def _reuse(self, audit: Audit) -> str:
        """Return that known inputs take less time than new ones, or nothing."""
        if audit.reuse <= REUSE:
            return ""
        known_ns, new_ns = (float(np.median(each)) for each in (audit.known_ns, audit.new_ns))
        return (
            f"passes on inputs that the kernel has run on before take {known_ns:.4g} ns a round, "
            f"passes on new inputs {new_ns:.4g} ns, {audit.reuse:.2f} times as long; the kernel "
            "must compute everything in every pass, and keep nothing from one pass to the next"
        )

    def _more_work_alone(self, audit: Audit) -> str:
        """Return that a round alone takes longer than one within a window, or nothing."""
        if not audit.window_ns or not self._is_slower_alone(audit, min(audit.window_ns)):
            return ""
        return (
            f"a round of passes takes {min(audit.window_ns):.4g} ns within a window and "
            f"{min(audit.plain_ns):.4g} ns alone; the kernel must make all passes of a window, and "
            "do all of its work in each"
        )

    def _is_slower_alone(self, audit: Audit, window_ns: float) -> bool:
        delayed_ns = max(audit.probe_factor * window_ns, window_ns + audit.probe_delay_ns)
        limit_ns = ALONE * (delayed_ns + audit.memory_ns) + ALONE_NS
        return min(audit.plain_ns) > limit_ns

    def _time_round(self, window: int = 1) -> float:
        """Return the time in ns of one round, of a request of `window` rounds."""
        return self._time(self.rotation.dispatches, window)

    def _create_probes(self, window: int) -> list[tuple[list[Dispatch], int]]:
        """Return a probe as long as a round, and one of as much memory, at most a cache's size.

        Each comes with the number of its rounds that take at most the time of a window.
        """
        device, passes = self.rotation.device, self.rotation.passes
        buffers = {
            id(buffer): buffer
            for each in passes
            for held in (each.inputs, each.outputs, each.scratches)
            for buffer in held.values()
        }
        size = sum(each.bytes.nbytes for each in buffers.values())
        cache = _last_level_cache(device)
        threadgroups = max(math.prod(each.threadgroups) for each in self.rotation.dispatches)
        round_ns = self._time_round(window)
        probe = create_parallel_probe(device, min(SLOW_ROUND_NS, round_ns))
        memory = create_memory_probe(device, min(size, cache), threadgroups)
        memory_window = int(np.clip(window * round_ns / self._time(memory, 1), 2, max(window, 2)))
        return [(probe, window), (memory, memory_window)]

    def _time(self, dispatches: list[Dispatch], window: int) -> float:
        samples = self.rotation.device.sample(
            dispatches, candidate_window=window, warmup_ns=0, max_pairs=1, min_pairs=1
        )
        return float(samples.candidate_ns[0])

    def _copy_memory(
        self, written: list[Workload]
    ) -> tuple[Bound, list[tuple[GuardedBuffer, Values]]]:
        """Return the last pass of a round on `written`, and a copy of its memory."""
        last = self.rotation.passes[-1]
        place = [id(each.inputs) for each in self._inputs].index(id(last.inputs))
        buffers = (*last.inputs.values(), *last.outputs.values())
        memory = [(each, each.bytes.copy()) for each in buffers]
        return replace(last, workload=written[place]), memory

    def _judge_round(self, last: Bound, memory: list[tuple[GuardedBuffer, Values]]) -> None:
        """Keep what is wrong with the results that the last pass of a round left of new inputs."""
        for buffer, left in memory:
            np.copyto(buffer.bytes, left)
        for each in self.rotation.examiner(last).judge_last_run().findings:
            message = f"a pass on new inputs between timed windows: {each.message}"
            self.findings.append(replace(each, message=message))

    def _draw_workloads(self, count: int) -> list[Workload]:
        """Return `count` new workloads, two for each round.

        Drawing large inputs takes longer than a pass, so there are two draws only, of which
        `_mix_inputs` makes others. Inputs that all belong together cannot be mixed.
        """
        works = self.rotation.workloads
        task, size, dtype_name = works[0].task, works[0].size, works[0].dtype.name
        together = all(each.together for each in task.inputs.values())
        # A large number, so that no exchange of inputs draws the same ones.
        skipped = int(self.random.integers(1 << 20, 1 << 32))
        further = like_seeds(task, works[0].seed, skipped=skipped)
        seeds = islice(further, count if together else 2)
        drawn = [workload(task, size, dtype_name=dtype_name, seed=seed) for seed in seeds]
        return [drawn[place % len(drawn)] for place in range(count)]

    def _write_inputs(self, draws: list[Workload], contents: list[Workload] | None) -> None:
        """Write the inputs of a round: `contents`, or new mixtures of two draws."""
        for place, each in enumerate(self._inputs):
            one, other = draws[place % 2].inputs, draws[1 - place % 2].inputs
            inputs = self._mix_inputs(
                one, other, None if contents is None else contents[place].inputs
            )
            for name, buffer in each.inputs.items():
                buffer.fill(inputs[name])

    def _mix_inputs(self, one: Arrays, other: Arrays, contents: Arrays | None = None) -> Arrays:
        """Return inputs of which no element is where any pass had it, or copies of `contents`.

        Each element is taken at random from one of two draws, both rotated by a random distance;
        floats are also scaled down by up to a hundredth. Elements that belong together are neither
        separated nor changed. Given contents are the same work, whose result is overwritten, so
        that all blocks of an audit leave caches alike.
        """
        inputs = self.rotation.bound.workload.task.inputs
        renewed = {
            name: array.copy() if inputs[name].together else self._mix_elements(array, other[name])
            for name, array in one.items()
        }
        if contents is not None:
            for name, array in renewed.items():
                np.copyto(array, contents[name])
        return renewed

    def _mix_elements(self, one: Values, other: Values) -> Values:
        size, is_float = one.size, not np.issubdtype(one.dtype, np.integer) and one.dtype != bool
        words = self.random.integers(0, 256, size=size // 8 + 2, dtype=np.uint8)
        distances = [int(each) for each in self.random.integers(0, max(size, 1), size=2)]
        factor = 1 - 0.01 * self.random.random()
        mixed = np.empty(size, one.dtype)
        masks = _list_masks(one.itemsize)
        bits = masks.dtype
        chosen, taken = one.reshape(-1).view(bits), other.reshape(-1).view(bits)
        # Bit operations: a choice by branches takes longer. By chunks, which stay in the cache; a
        # chunk lies within both rotated arrays.
        cuts = sorted({*range(0, size, MIXED_AT_ONCE), *distances, size})
        for start, end in pairwise(cuts):
            count, place = end - start, start // 8
            mask = masks.take(words[place : place + count // 8 + 1], axis=0).reshape(-1)[:count]
            first, second = ((start - distance) % size for distance in distances)
            result = mixed.view(bits)[start:end]
            np.bitwise_xor(chosen[first : first + count], taken[second : second + count], result)
            result &= mask
            result ^= chosen[first : first + count]
            if is_float:
                mixed[start:end] *= mixed.dtype.type(factor)
        return mixed.reshape(one.shape)


@cache
def _list_masks(nbytes: int) -> Values:
    """Return the masks of eight elements of `nbytes` for each byte of random bits: (256, 8)."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    return -bits.astype(f"i{nbytes}")


def _replace_updated_inputs(bound: Bound) -> Workload:
    """Return the workload of a pass, with the present contents of inputs updated in place."""
    updated = {name: bound.inputs[name].array.copy() for name in bound.inouts}
    return replace(bound.workload, inputs={**bound.workload.inputs, **updated})


def _await_idle_threads() -> None:
    """Wait until no thread of this process takes processor time."""
    for _ in range(round(SPINNING_S / STEP_S)):
        before = process_time()
        sleep(STEP_S)
        if process_time() - before < STEP_S / 4:
            return


def _join(audits: Sequence[Audit]) -> Audit:
    """Return several audits as one."""
    blocks = zip(*(astuple(each) for each in audits), strict=True)
    return Audit(*(tuple(chain.from_iterable(block)) for block in blocks))


# Time a kernel in its buffers against its reference on the same inputs.

# Time to choose the form of the reference: a part of the measurement's, but at least the seconds in
# which 3 % can be distinguished at a noise of 10 %. A short measurement, whose interval is wider
# than that, gets a multiple of its own time.
FORMS_SHARE = 0.25
FORMS_LEAST_S = 0.75
FORMS_OF_SHORT = 2.0


@dataclass
class Timed:
    """A kernel and its reference on the same inputs, ready to be timed.

    Between batches the inputs of both are exchanged. Nothing else changes.
    """

    device: Device
    rotation: BufferRotation
    reference: Reference | None
    remarks: tuple[str, ...] = ()
    audit: ReuseAudit = field(init=False)

    def __post_init__(self) -> None:
        """Create the audit of the timed passes."""
        self.audit = ReuseAudit(self.rotation)

    @classmethod
    def prepare(
        cls,
        compiled: Compiled,
        work: Workload,
        mode: TimingMode,
        reference_errors: ReferenceErrors | None = None,
    ) -> Timed:
        """Bind a kernel as `BufferRotation.of`, and create its reference on the same inputs."""
        from metalbench.reference import create_reference  # imports MLX

        device = compiled.device
        rotation = BufferRotation.of(compiled, work, mode, reference_errors)
        cold = mode is TimingMode.COLD
        sets = len(rotation.rounds[0]) if cold else len(rotation.rounds)
        keeps = sets if cold else 0
        reference, missing = create_reference(
            device.kind,
            work,
            copies=sets,
            keeps=keeps,
            in_place=bool(compiled.kernel.inouts),
        )
        if reference is not None:
            reference.load(*rotation.workloads)
        return cls(device, rotation, reference, (*missing, *rotation.doubts))

    @property
    def bound(self) -> Bound:
        """The first pass: the kernel in its buffers."""
        return self.rotation.bound

    def measure(self, plan: Plan, progress: Progress | None) -> Measurement:
        """Time the kernel against the fastest form of its reference."""
        forms: tuple[FormTime, ...] = ()
        remarks = self.remarks
        # Choose the form of the reference.
        if self.reference is not None:
            choice = self._choose_form(self.reference, plan)
            self.reference.pass_over()  # builds a form whose choice was stored
            forms = choice.forms
            remarks = (*remarks, *choice.doubts)
        # Sample pairs.
        sides = Sides(
            self.rotation.dispatches,
            self.reference,
            repeats=len(self.rotation.passes),
            probe=create_probe(self.device),
            refresh=self._exchange_inputs,
            interlude=self.audit.run,
        )
        measured = measure(self.device, sides, plan, progress=progress)
        return replace(measured, forms=forms, remarks=(*remarks, *measured.remarks))

    def _choose_form(self, reference: Reference, plan: Plan) -> FormChoice:
        """Find the fastest form of the reference, or load the choice of an earlier run."""
        from metalbench.run import reference_forms
        from metalbench.run.reference_forms import choose_form

        where = self.device.name, plan.mode.value
        choice = reference_forms.load_choice(reference, *where)
        if choice is None:
            with self.device.thread_qos():
                choice = choose_form(
                    reference,
                    seconds=max(
                        FORMS_SHARE * plan.seconds,
                        min(FORMS_LEAST_S, FORMS_OF_SHORT * plan.seconds),
                    ),
                    seed=plan.seed,
                    window_s=plan.window_ns_on(own_clock=self.device.own_clock) / 1e9,
                    pass_s=self._reference_pass_s,
                )
            reference_forms.store_choice(choice, reference, *where)
        return choice

    @property
    def _reference_pass_s(self) -> float:
        """The time in s of a pass of the reference in verification; 0 if it is not comparable."""
        # Verification runs the reference in float32, for every element type.
        errors = self.rotation.reference_errors
        is_comparable = self.bound.workload.dtype.name == "float32" and errors.errors
        return errors.pass_s if is_comparable else 0.0

    def _exchange_inputs(self, batch: int) -> None:
        self.rotation.exchange_inputs(batch)
        if self.reference is not None:
            self.reference.load(*self.rotation.workloads)
