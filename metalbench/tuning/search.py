"""Values of tunables, tried one after the other against the kernel's defaults, in pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from metalbench import verify
from metalbench.comparison.head_to_head import WrongKernelError
from metalbench.comparison.match import Match, Players, measurement_of, outcome_of
from metalbench.errors import DeclarationError
from metalbench.measure import Measurement, Plan
from metalbench.result.environment import engine_on
from metalbench.result.tuning import Tuning, spelled
from metalbench.run.stages import Silent
from metalbench.stats import Interval, Verdict
from metalbench.tuning.journal import Journal, Values

if TYPE_CHECKING:
    from metalbench.kernel import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.result import DeviceFacts
    from metalbench.task.declaration import TimedDevice

# Of the defaults alone, which are only to be right; of one candidate, which is to be better than
# the best so far; and of the last word on the winner.
DEFAULTS_S = 0.05
CANDIDATE_S = 0.5
CONFIRMATION_S = 5.0


@dataclass(frozen=True)
class Candidate:
    """Values that were tried: the time of the defaults over theirs, or what is wrong with them."""

    values: Values
    ratio: float | None
    fault: str = ""


@dataclass(frozen=True)
class Found:
    """What a search came to: all candidates, of which `tuning` names the winner.

    `confirmation` is the winner's ratio to the defaults, measured once more, None where the
    defaults are the best; `complete` says whether no candidate is left.
    """

    tuning: Tuning
    candidates: tuple[Candidate, ...]
    confirmation: Interval | None
    complete: bool

    @property
    def faults(self) -> tuple[Candidate, ...]:
        """The candidates with which the kernel is wrong, though its header offers them."""
        return tuple(each for each in self.candidates if each.fault)


class Observer(Protocol):
    """Hears of a search while it goes on."""

    def candidate(self, number: int, total: int, candidate: Candidate) -> None:
        """Hear of the next candidate that was tried, or that was known from before."""

    def confirming(self, best: Candidate) -> None:
        """Hear that the best one is measured once more."""


@dataclass(frozen=True)
class Search:
    """What is searched: a kernel's tunables for one element type and size, in `seconds`.

    `journal` is the file that remembers what was tried. `size` None is the device's headline.
    """

    entry: Entry
    kernel: Kernel
    journal: Path
    dtype: str = "float32"
    size: str | None = None
    seconds: float = 60.0
    seed: int = 0
    candidate_plan: Plan = field(default_factory=lambda: Plan(seconds=CANDIDATE_S))
    confirmation_plan: Plan = field(default_factory=lambda: Plan(seconds=CONFIRMATION_S))

    def size_on(self, device: TimedDevice) -> str:
        """Return the size that is timed on `device`."""
        return self.size or self.entry.task.headline_on(device)


def tune(
    device: DeviceFacts,
    search: Search,
    players: Players,
    observer: Observer,
    *,
    clock: Callable[[], float] = monotonic,
) -> Found:
    """Try candidates until the time is up or none is left, and confirm the best one.

    Each is verified at small sizes and at the one that is timed, before and after, and timed in
    pairs with the defaults, where `players` let it run. The best one wins only if a longer
    measurement, in pairs again, calls it FASTER. What was tried in earlier searches of the same
    kernel on the same device counts.

    Raises
    ------
    DeclarationError
        If the kernel has no `// tune:` line.
    WrongKernelError
        If the defaults are wrong.
    MachineError
        If Optuna is missing, or the machine is at fault.
    """
    _expect_tunables(search.kernel)
    bench = _Bench(device, search, players)
    bench.check_defaults()
    end = clock() + search.seconds
    journal = _journal(device, search)
    tried = [Candidate(*each) for each in journal.known()]
    for number, candidate in enumerate(tried, 1):
        observer.candidate(number, journal.size, candidate)
    while clock() < end and (found := _next(bench, journal)) is not None:
        tried.append(found)
        observer.candidate(len(tried), journal.size, found)
    best, ratio, tried = _best(bench, tried, observer)
    tuning = _tuning(device, search, best, ratio, candidates=len(tried))
    return Found(tuning, tuple(tried), ratio, len(tried) >= journal.size)


@dataclass(frozen=True)
class _Bench:
    """Where values are held against the defaults."""

    device: DeviceFacts
    search: Search
    players: Players

    @property
    def defaults(self) -> str:
        """What the kernel is called as it is."""
        return f"{self.search.entry.name} with its defaults"

    def check_defaults(self) -> None:
        """Raise WrongKernelError if the kernel is wrong as it is."""
        plan = replace(self.search.candidate_plan, seconds=DEFAULTS_S)
        self._measured({}, self.defaults, plan)

    def tried(self, values: Values) -> Candidate:
        """Verify values, and time them shortly; raises WrongKernelError if the defaults are."""
        try:
            measured = self._against_defaults(values, self.search.candidate_plan)
        except WrongKernelError as error:
            if error.name == self.defaults:
                raise
            return Candidate(values, None, error.finding)
        assert measured.ratio is not None
        return Candidate(values, measured.ratio.value)

    def confirmed(self, values: Values) -> Interval | None:
        """The ratio of values on other inputs, if they are FASTER; raises WrongKernelError."""
        plan = self.search.confirmation_plan
        measured = self._against_defaults(values, plan, self.search.seed + 1)
        return measured.ratio if measured.verdict is Verdict.FASTER else None

    def _against_defaults(self, values: Values, plan: Plan, seed: int | None = None) -> Measurement:
        return self._measured(
            values, f"{self.search.entry.name} with {spelled(values)}", plan, seed
        )

    def _measured(
        self, values: Values, name: str, plan: Plan, seed: int | None = None
    ) -> Measurement:
        search = self.search
        match = Match(
            search.entry,
            search.kernel,
            search.kernel,
            names=(self.defaults, name),
            dtype=search.dtype,
            size=search.size,
            plan=replace(plan, seed=search.seed if seed is None else seed),
            tunables=({}, values),
            also_sizes=tuple(verify.small_sizes(search.entry.task)),
            thorough=False,
        )
        outcome = outcome_of(self.players, self.device, match, Silent())
        return measurement_of(match, outcome)


def _next(bench: _Bench, journal: Journal) -> Candidate | None:
    """Try the next candidate and remember it; None if there is none."""
    trial = journal.next()
    if trial is None:
        return None
    candidate = bench.tried(dict(trial.params))
    if candidate.ratio is None:
        journal.tell_fault(trial, candidate.fault)
    else:
        journal.tell(trial, candidate.ratio)
    return candidate


def _expect_tunables(kernel: Kernel) -> None:
    if not kernel.tunables:
        raise DeclarationError(
            f"[{kernel.name}] {kernel.path.name} has nothing to tune; a line such as "
            "`// tune: TG = 256, 128, 512` names a macro and the values worth trying"
        )


def _journal(device: DeviceFacts, search: Search) -> Journal:
    """What was tried of a search before, the defaults among it."""
    name = _name(device, search)
    journal = Journal(search.journal, name, search.kernel.tunables, seed=search.seed)
    journal.add(search.kernel.tuned(dtype=search.dtype), 1.0)
    return journal


def _tuning(
    device: DeviceFacts, search: Search, values: Values, ratio: Interval | None, *, candidates: int
) -> Tuning:
    return Tuning(
        task=search.entry.name,
        dtype=search.dtype,
        size=search.size_on(device),
        source_hash=search.kernel.hash,
        engine=engine_on(device.kind),
        values=values,
        ratio=ratio,
        candidates=candidates,
        found_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def _name(device: DeviceFacts, search: Search) -> str:
    """What identifies the search, for what was tried under other circumstances does not count."""
    size = search.size_on(device)
    parts = (
        *(device.kind, device.name, str(device.cores), engine_on(device.kind)),
        *(search.kernel.hash, search.dtype, size),
    )
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{search.entry.name}-{search.dtype}-{size}-{digest[:16]}"


def _best(
    bench: _Bench, tried: list[Candidate], observer: Observer
) -> tuple[Values, Interval | None, list[Candidate]]:
    """Return the winner and its ratio, and the candidates with what the last measurement found."""
    defaults = bench.search.kernel.tuned(dtype=bench.search.dtype)
    while True:
        best = max(tried, key=lambda each: each.ratio or 0.0)
        if best.values == defaults:
            return defaults, None, tried
        observer.confirming(best)
        try:
            ratio = bench.confirmed(best.values)
        except WrongKernelError as error:
            if error.name == bench.defaults:
                raise
            # On other inputs than before. The next best may be right.
            wrong = Candidate(best.values, None, error.finding)
            tried = [wrong if each is best else each for each in tried]
            continue
        return (defaults if ratio is None else best.values), ratio, tried
