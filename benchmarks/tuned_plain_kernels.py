"""Tune twelve plain kernels without a model, and compare the winners with the library's kernels.

    python benchmarks/tuned_plain_kernels.py [NAME ...] [--device cpu|cuda|metal] [--minutes M]
        [--objective predicted:m2] [--record FILE]

`plain_kernels` has what a beginner writes. The tuner proposes versions of each, as in
`agent_steel --loop`. A version is verified at the smallest sizes and at the timed one, and timed in
pairs with the best one so far. The winner is then verified at all sizes and in a checked build, and
timed in pairs with the library's kernel and with the plain one, in this process.

With `--objective predicted:CHIP` the model of that Apple GPU decides in place of times. The table
then has predicted gains. On `cuda` the plain kernel and the winner are timed, too, and the last
line has the rank correlation of predicted and measured gains.

Ratios are those of times: the winner's divided by the library's, and the plain kernel's divided by
the winner's.

All versions of one task are verified and timed on the same inputs, and the cache of workloads is
large enough for them, so each oracle runs once. On a device that has its own clock a thread runs
those of the next task during a search.

`--record FILE` appends each row to a file (JSON lines). The same command then prints the rows
that the file has of the same device, objective and plain kernels, and goes on with the others.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import warnings
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from time import monotonic, perf_counter

from agent_steel.attempt import Attempt, Status
from agent_steel.loop.predicted import Predictor, predict_ratio
from agent_steel.loop.settings import SearchSubject
from agent_steel.proposal import Brief, Diagnosis
from agent_steel.source import source_key, with_source
from agent_steel.tuning.tuner import Tuner
from metalbench import _core, verify
from metalbench.cli.options import find_objective_chip
from metalbench.compare.head_to_head import Contest, WrongKernelError, check_side, run_contest
from metalbench.errors import MetalBenchError
from metalbench.kernel.header import Kernel, device_names
from metalbench.kernel.library import Entry, Library
from metalbench.measure.analysis import Target
from metalbench.measure.measurement import Measurement, Plan
from metalbench.profiling.gpu_chips import GpuChip
from metalbench.profiling.prediction import Prediction
from metalbench.report import numbers
from metalbench.run.timed import like_seeds
from metalbench.run.trial import device_facts
from metalbench.sandbox.resources import memory_bytes
from metalbench.stats import Interval
from metalbench.store.result import DeviceFacts, format_tunables
from metalbench.task import Task
from metalbench.task.workload import keep_workloads, workload
from metalbench.verify.examine import ReferenceErrors

PLAIN = Path(__file__).parent / "plain_kernels"
# What bounds each technique on a GPU, as a profile says; the tuner orders recipes by it.
BOUNDS = {"sqr_mm": "compute", "transpose_2d": "memory"}
# A plain product of 1024 x 1024 matrices takes seconds on the simulated device. It is tuned at a
# smaller size, and compared at the headline size.
SEARCH_SIZES = {("sqr_mm", "cpu"): "n=384"}
NEAR = 1.3
# Enough to distinguish candidates that differ by a few percent.
QUICK = Plan(
    seconds=0.1,
    warmup_ns=20_000_000,
    batch_pairs=8,
    first_analysis=16,
    settled_half_width=0.05,
    long_windows=0,
)
# Other inputs, and another order of the pairs.
AGAIN = replace(QUICK, seed=1)
FINAL = Plan(seconds=0.8, warmup_ns=100_000_000, long_windows=0)
# A winner must be at least so much faster than the best before it.
LEAST_GAIN = 1.02
MOST_SECONDS = 30.0
# Seeds of inputs that a measurement rotates and exchanges.
ROTATED = 12


@dataclass(frozen=True)
class Candidate:
    """A version of a kernel with its values."""

    kernel: Kernel
    tunables: dict[str, int]
    technique: str = "plain"


@dataclass
class TunedKernel:
    """The outcome of one task; times are in nanoseconds, None where there is none."""

    name: str
    technique: str = ""
    values: str = ""
    attempts: int = 0
    wrong: int = 0
    seconds: float = 0.0
    plain_ns: float | None = None
    tuned_ns: float | None = None
    library_ns: float | None = None
    to_library: float | None = None
    gain: float | None = None
    predicted_gain: float | None = None
    final_seconds: float = 0.0
    fault: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class PlainSearch:
    """The tuner's search from one plain kernel."""

    device: _core.Device
    facts: DeviceFacts
    entry: Entry
    plain: Kernel
    size: str
    predictor: Predictor | None
    errors: dict[str, ReferenceErrors] = field(default_factory=dict)
    attempts: list[Attempt] = field(default_factory=list)

    def run(self, deadline: float) -> tuple[list[Candidate], int]:
        """Return the versions that were the best, the last one first, and how many were wrong."""
        best = Candidate(self.plain, {})
        standing = [best]
        self._add(best, Status.BASELINE, None, None)
        best_number, wrong = 1, 0
        tuner = Tuner()
        while monotonic() < deadline:
            proposal = tuner.propose(self._brief(best, best_number), lambda text: None)
            if proposal is None:
                break
            kernel = with_source(self.plain, proposal.source)
            candidate = Candidate(kernel, dict(proposal.tunables), proposal.technique)
            gain = self._judge(best, candidate)
            if gain is not None and gain >= LEAST_GAIN and self.predictor is None:
                # The best of many short measurements is biased.
                again = self._judge(best, candidate, AGAIN)
                gain = None if again is None else min(gain, again)
            wrong += gain is None
            status = Status.WRONG if gain is None else Status.REVERTED
            if gain is not None and gain >= LEAST_GAIN:
                status = Status.KEPT
            ratio = None if gain is None else Interval(gain, gain, gain)
            number = self._add(candidate, status, best_number, ratio)
            if status is Status.KEPT:
                best, best_number = candidate, number
                standing.insert(0, best)
        return standing, wrong

    def _judge(self, best: Candidate, candidate: Candidate, plan: Plan = QUICK) -> float | None:
        """Return the best version's time over the candidate's; None if it is wrong."""
        contest = self.contest(best, candidate, plan)
        try:
            if self.predictor is None:
                measured = run_contest(self.device, contest)
                return None if measured.ratio is None else measured.ratio.value
            check_side(self.device, contest, 1)
            rival, found = self.predict(best), self.predict(candidate)
        except MetalBenchError:
            return None
        if isinstance(rival, str) or isinstance(found, str):
            return None
        return predict_ratio(found, rival).value

    def contest(self, before: Candidate, after: Candidate, plan: Plan) -> Contest:
        """Return a contest of two versions at the size of the search."""
        return Contest(
            self.entry.task,
            before.kernel,
            after.kernel,
            ("the best so far", "the candidate"),
            size=self.size,
            plan=plan,
            tunables=(before.tunables, after.tunables),
            knows_before=True,
            also_sizes=tuple(verify.small_sizes(self.entry.task)),
            reference_errors=self.errors,
        )

    def predict(self, each: Candidate) -> Prediction | str:
        """Return the predicted time of a version on the chip, or why there is none."""
        assert self.predictor is not None
        subject = SearchSubject(
            *(self.entry, self.plain, "float32", self.size, self.facts, self.predictor.chip)
        )
        return self.predictor.predict(subject, each.kernel, each.tunables)

    def _brief(self, best: Candidate, number: int) -> Brief:
        bound = BOUNDS.get(self.entry.name, "latency")
        return Brief(
            task=self.entry.task,
            kernel=best.kernel,
            parent=next(each for each in self.attempts if each.number == number),
            diagnosis=Diagnosis(bound, ""),
            device=self.facts,
            dtype="float32",
            size=self.size,
            extents=self.entry.task.extents(self.size),
            reference="",
            target=Target.SPEED,
            round=1,
            attempts=tuple(self.attempts),
        )

    def _add(
        self, each: Candidate, status: Status, parent: int | None, ratio: Interval | None
    ) -> int:
        number = len(self.attempts) + 1
        self.attempts.append(
            Attempt(
                *(number, 1, self.entry.name, "float32", self.size, parent, 1),
                source=each.kernel.source,
                source_key=source_key(each.kernel, each.tunables, dtype="float32"),
                tunables=each.tunables,
                status=status,
                technique=each.technique,
                ratio=ratio,
            )
        )
        return number


def compare(
    search: PlainSearch, before: Candidate, after: Candidate, size: str, *, thorough: bool
) -> Measurement:
    """Time two versions in pairs; with `thorough` the second one is verified at all sizes."""
    contest = replace(search.contest(before, after, FINAL), size=size, thorough=thorough)
    return run_contest(search.device, contest)


def tune(search: PlainSearch, library: Kernel, seconds: float) -> TunedKernel:
    """Tune one plain kernel, and measure what came of it."""
    device, entry, predictor = search.device, search.entry, search.predictor
    result = TunedKernel(entry.name)
    begin = perf_counter()
    standing, result.wrong = search.run(monotonic() + seconds)
    result.seconds = perf_counter() - begin
    result.attempts = len(search.attempts) - 1
    first = standing[-1]
    if predictor is None or device.kind != "cpu":
        begin = perf_counter()
        headline = entry.task.headline_on(search.facts)
        _measure(result, search, standing, Candidate(library, {}), headline)
        result.final_seconds = perf_counter() - begin
    if predictor is not None:
        winner = standing[0]
        result.technique, result.values = winner.technique, format_tunables(winner.tunables)
        pair = [search.predict(each) for each in (first, winner)]
        if not isinstance(pair[0], str) and not isinstance(pair[1], str):
            result.predicted_gain = predict_ratio(pair[1], pair[0]).value
            result.plain_ns = result.plain_ns or 1e9 * pair[0].seconds
            result.tuned_ns = result.tuned_ns or 1e9 * pair[1].seconds
        else:
            result.fault = next(each for each in pair if isinstance(each, str))
    return result


def _measure(
    result: TunedKernel,
    search: PlainSearch,
    standing: Sequence[Candidate],
    library: Candidate,
    headline: str,
) -> None:
    """Compare the best right version with the library's kernel and with the plain one."""
    for winner in standing:
        try:
            with_library = compare(search, library, winner, headline, thorough=True)
        except WrongKernelError as error:
            result.notes.append(f"{winner.technique}: {error.finding}")
            continue
        result.technique, result.values = winner.technique, format_tunables(winner.tunables)
        assert with_library.reference_ns is not None
        assert with_library.ratio is not None
        result.tuned_ns = with_library.candidate_ns.value
        result.library_ns = with_library.reference_ns.value
        result.to_library = 1 / with_library.ratio.value
        if winner is standing[-1]:
            result.plain_ns, result.gain = result.tuned_ns, 1.0
            return
        with_plain = compare(search, standing[-1], winner, search.size, thorough=False)
        assert with_plain.ratio is not None
        assert with_plain.reference_ns is not None
        result.gain = with_plain.ratio.value
        result.plain_ns = with_plain.reference_ns.value
        if search.size != headline:
            result.notes.append(f"the plain kernel is timed at {search.size}")
        return
    result.fault = "; ".join(result.notes) or "no version is right"


def print_row(found: TunedKernel, *, predicted: bool) -> None:
    """Print one row of the table."""

    def time(ns: float | None) -> str:
        return "-" if ns is None else numbers.short_time(ns)

    def ratio(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    cells = [
        f"{found.name:20}",
        f"{time(found.plain_ns):>10}",
        f"{time(found.tuned_ns):>10}",
        f"{time(found.library_ns):>10}",
        f"{ratio(found.to_library):>9}",
        f"{ratio(found.gain):>8}",
    ]
    if predicted:
        cells.append(f"{ratio(found.predicted_gain):>10}")
    cells += [f"{found.attempts:>6}", f"{found.wrong:>6}"]
    cells += [f"{found.seconds:>7.1f} s", f"{found.final_seconds:>7.1f} s"]
    said = found.fault or f"{found.technique} {found.values}".strip()
    print("".join(cells), "", said, flush=True)
    for note in found.notes if not found.fault else ():
        print(f"{'':20}  {note}")


@dataclass
class Inputs:
    """Runs the oracles of a task before its search needs them, if `ahead`.

    Host work disturbs the times of a device without its own clock, so nothing is done there.
    """

    ahead: bool
    _executor: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _running: Future[None] | None = None

    def prepare(self, task: Task, size: str) -> None:
        """Begin to prepare the inputs of one task, after those of earlier calls."""
        if self.ahead:
            self._running = self._executor.submit(self._prepare, task, size)

    def close(self) -> None:
        """Leave out what has not begun."""
        self._executor.shutdown(wait=True, cancel_futures=True)

    @staticmethod
    def _prepare(task: Task, size: str) -> None:
        # Errors are raised again where the inputs are used.
        with suppress(MetalBenchError):
            for each in dict.fromkeys([size, *verify.all_sizes(task, upto=size)]):
                for seed in verify.seeds_for(task, each):
                    work = workload(task, each, seed=seed)
                    _ = work.expected, work.scale
            for seed in islice(like_seeds(task, 0), ROTATED):
                workload(task, size, seed=seed)


@dataclass(frozen=True)
class Table:
    """The rows of one device and objective, and the file that they are kept in, if there is one."""

    device: _core.Device
    objective: str
    path: Path | None

    def load(self) -> dict[str, TunedKernel]:
        """Return the rows of the file by task, but for those of a plain kernel that has changed."""
        found: dict[str, TunedKernel] = {}
        if self.path is None or not self.path.exists():
            return found
        for line in self.path.read_text("utf-8").splitlines():
            # A process that was killed may have left a part of a line.
            with suppress(json.JSONDecodeError):
                each = json.loads(line)
                if each["of"] == self._key(each["row"]["name"]):
                    found[each["row"]["name"]] = TunedKernel(**each["row"])
        return found

    def add(self, row: TunedKernel) -> None:
        """Append a row to the file."""
        if self.path is None:
            return
        text = json.dumps({"of": self._key(row.name), "row": vars(row)})
        with self.path.open("a", encoding="utf-8") as file:
            # The line break first ends a part of a line.
            file.write(f"\n{text}\n")

    def _key(self, name: str) -> list[str]:
        plain = (PLAIN / f"{name}.metal").read_bytes()
        digest = hashlib.sha256(plain).hexdigest()[:16]
        return [self.device.kind, self.device.name, self.objective, digest]


def main() -> None:
    """Tune all kernels and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--objective", default="time")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--record", type=Path, metavar="FILE")
    options = parser.parse_args()
    known = sorted(path.stem for path in PLAIN.glob("*.metal"))
    names = options.names or known
    if unknown := set(names) - set(known):
        parser.error(f"NAME: expected some of {', '.join(known)}; got {', '.join(sorted(unknown))}")
    # Warnings of libraries would interrupt the table.
    warnings.simplefilter("ignore")
    chip = find_objective_chip(options.objective)
    device = _core.open(options.device)
    keep_workloads(memory_bytes() // 3)
    begin = monotonic()
    end = begin + 60 * options.minutes
    head = f"{'task':20}{'plain':>10}{'tuned':>10}{'library':>10}{'/library':>9}{'gain':>8}"
    head += f"{'predicted':>10}" if chip else ""
    print(f"{device.kind} ({device.name}), objective {options.objective}")
    print(f"{head}{'tried':>6}{'wrong':>6}{'search':>9}{'final':>9}")
    table = Table(device, options.objective, options.record)
    rows = {name: each for name, each in table.load().items() if name in names}
    for each in rows.values():
        print_row(each, predicted=chip is not None)
    _tune_all([name for name in names if name not in rows], table, chip, end, rows)
    print_end(list(rows.values()), predicted=chip is not None)
    print(f"{monotonic() - begin:.0f} s in all")
    if left := [name for name in names if name not in rows]:
        again = "the same command goes on with them" if options.record else "allow more --minutes"
        print(f"the time is up before {', '.join(left)}: {again}")


def _tune_all(
    names: Sequence[str],
    table: Table,
    chip: GpuChip | None,
    end: float,
    rows: dict[str, TunedKernel],
) -> None:
    """Tune kernels until the instant `end`, in s; print their rows and add them to `rows`."""
    device = table.device
    facts = device_facts(device)
    searches = []
    for name in names:
        entry = Library().entry(name)
        on = device_names(facts if chip is None else chip.target)
        plain = with_source(entry.kernel(), (PLAIN / f"{name}.metal").read_text("utf-8")).on(on)
        size = SEARCH_SIZES.get((name, device.kind), entry.task.headline_on(facts))
        predictor = None if chip is None else Predictor(chip)
        searches.append(PlainSearch(device, facts, entry, plain, size, predictor))
    inputs = Inputs(ahead=device.own_clock)
    for each in searches[:1]:
        inputs.prepare(each.entry.task, each.size)
    for number, search in enumerate(searches):
        if monotonic() >= end:
            break
        for each in searches[number + 1 : number + 2]:
            inputs.prepare(each.entry.task, each.size)
        # Half of the time is for the comparisons at the end.
        left = (end - monotonic()) / (len(searches) - number)
        share = max(1.0, min(MOST_SECONDS, 0.5 * left))
        name = search.entry.name
        try:
            found = tune(search, search.entry.kernel(facts, dtype="float32"), share)
        except MetalBenchError as error:
            found = TunedKernel(name, fault=str(error).partition("\n")[0])
        rows[name] = found
        table.add(found)
        print_row(found, predicted=chip is not None)
    inputs.close()


def print_end(results: Sequence[TunedKernel], *, predicted: bool) -> None:
    """Print how many winners are near the library's kernels, and how well gains were predicted."""
    if any(each.to_library is not None for each in results):
        near = sum(each.to_library is not None and each.to_library <= NEAR for each in results)
        print(f"{near} of {len(results)} within {NEAR} x")
    if not predicted:
        return
    gains = [each.predicted_gain for each in results if each.predicted_gain is not None]
    if gains:
        mean = math.exp(sum(map(math.log, gains)) / len(gains))
        print(f"predicted gain {mean:.2f} x (geometric mean of {len(gains)})")
    both = [
        (each.predicted_gain, each.gain)
        for each in results
        if each.predicted_gain is not None and each.gain is not None
    ]
    if len(both) > 2:
        from scipy.stats import spearmanr

        measured = math.exp(sum(math.log(gain) for _, gain in both) / len(both))
        print(f"measured gain {measured:.2f} x (geometric mean of {len(both)})")
        rank = spearmanr(*zip(*both, strict=True))[0]
        print(f"rank correlation of predicted and measured gains {rank:.2f} ({len(both)} kernels)")


if __name__ == "__main__":
    main()
