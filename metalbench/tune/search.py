"""Optuna's study of one search in a file, so that no candidate is tried twice."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from metalbench import verify
from metalbench.compare.head_to_head import (
    Match,
    MatchRunner,
    WrongKernelError,
    require_measurement,
    run_match,
)
from metalbench.errors import DeclarationError, MachineError
from metalbench.measure.measurement import Measurement, Plan
from metalbench.run.trial import Silent
from metalbench.stats import Interval, Verdict
from metalbench.store.environment import engine_on
from metalbench.store.result import Tuning, format_tunables

if TYPE_CHECKING:
    import optuna

    from metalbench.kernel.header import Kernel
    from metalbench.kernel.library import Entry
    from metalbench.store.result import DeviceFacts
    from metalbench.task.declaration import TimedDevice


Space = Mapping[str, tuple[int, ...]]
Values = dict[str, int]
Key = tuple[tuple[str, int], ...]
# Spaces up to this size are searched in random order, larger ones by the sampler.
MOST_IN_TURN = 64
# After this number of known suggestions in a row a random candidate is drawn.
PATIENCE = 8
FAULT = "fault"


class Journal:
    """The candidates of one search, and the next candidate.

    `name` identifies device, kernel, type and size; a search with the same name is continued. With
    `path` None nothing is stored. Raises MachineError if Optuna is not installed.

    References
    ----------
    T. Akiba et al., "Optuna", KDD 2019. J. Bergstra et al., "Algorithms for hyper-parameter
    optimization", NIPS 2011: the tree-structured Parzen estimator for large spaces.
    """

    def __init__(self, path: Path | None, name: str, space: Space, *, seed: int = 0) -> None:
        optuna = _optuna()
        storage = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            backend = optuna.storages.journal.JournalFileBackend(str(path))
            storage = optuna.storages.JournalStorage(backend)
        self._space = {each: tuple(values) for each, values in space.items()}
        self._distributions = {
            each: optuna.distributions.CategoricalDistribution(values)
            for each, values in self._space.items()
        }
        self._random = np.random.default_rng(seed)
        self._study = optuna.create_study(
            storage=storage,
            study_name=name,
            sampler=optuna.samplers.TPESampler(seed=seed % 2**32),
            direction="maximize",
            load_if_exists=True,
        )

    @property
    def size(self) -> int:
        """Number of candidates in the space."""
        return math.prod(map(len, self._space.values()))

    def read_candidates(self) -> Iterator[tuple[Values, float | None, str]]:
        """Yield every tried candidate: its values, its ratio or None, and its fault."""
        states = _optuna().trial.TrialState
        for trial in self._study.get_trials(deepcopy=False):
            # Repeated suggestions are FAIL, interrupted trials are RUNNING.
            if trial.state in (states.COMPLETE, states.PRUNED):
                yield dict(trial.params), trial.value, str(trial.user_attrs.get(FAULT, ""))

    def next(self) -> optuna.Trial | None:
        """Return an untried candidate, None if all were tried."""
        tried = {_key(values) for values, _, _ in self.read_candidates()}
        if len(tried) >= self.size:
            return None
        for _ in range(PATIENCE if self.size > MOST_IN_TURN else 0):
            trial = self._ask()
            if _key(trial.params) not in tried:
                return trial
            self._study.tell(trial, state=_optuna().trial.TrialState.FAIL)
        self._study.enqueue_trial(self._draw_untried(tried))
        return self._ask()

    def tell(self, trial: optuna.Trial, ratio: float) -> None:
        """Store the ratio of a candidate."""
        self._study.tell(trial, ratio)

    def tell_fault(self, trial: optuna.Trial, fault: str) -> None:
        """Store the fault of a candidate."""
        trial.set_user_attr(FAULT, fault)
        self._study.tell(trial, state=_optuna().trial.TrialState.PRUNED)

    def add(self, values: Values, ratio: float | None) -> None:
        """Store a candidate of another source unless it is known; None marks a wrong one."""
        if values not in [known for known, _, _ in self.read_candidates()]:
            states = _optuna().trial.TrialState
            self._study.add_trial(
                _optuna().trial.create_trial(
                    params=values,
                    distributions=self._distributions,
                    value=ratio,
                    state=states.PRUNED if ratio is None else states.COMPLETE,
                )
            )

    def _ask(self) -> optuna.Trial:
        trial: optuna.Trial = self._study.ask(self._distributions)
        return trial

    def _draw_untried(self, tried: set[Key]) -> Values:
        """Draw a random untried candidate; one must exist."""
        while True:
            values = {
                name: several[self._random.integers(len(several))]
                for name, several in self._space.items()
            }
            if _key(values) not in tried:
                return values


def _key(values: Mapping[str, int]) -> Key:
    return tuple(sorted(values.items()))


def _optuna() -> Any:
    try:
        import optuna
        import optuna.storages.journal
    except ImportError as error:
        raise MachineError(
            f"tune needs Optuna ({error}): pip install 'metalbench[tune]'"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


# Search values of tunables: each candidate is timed in pairs against the kernel's defaults.

# Seconds for the defaults, which are only verified; for one candidate; for the confirmation.
DEFAULTS_S = 0.05
CANDIDATE_S = 0.5
CONFIRMATION_S = 5.0


@dataclass(frozen=True)
class TuningCandidate:
    """Values that were tried: the time of the defaults over theirs, or their fault."""

    values: Values
    ratio: float | None
    fault: str = ""


@dataclass(frozen=True)
class TuningResult:
    """The outcome of a search: all candidates; `tuning` names the winner.

    `confirmation` is the winner's ratio to the defaults in a second measurement, None if the
    defaults win. `complete` is whether all candidates were tried.
    """

    tuning: Tuning
    candidates: tuple[TuningCandidate, ...]
    confirmation: Interval | None
    complete: bool

    @property
    def faults(self) -> tuple[TuningCandidate, ...]:
        """The candidates that make the kernel incorrect, although its header offers them."""
        return tuple(each for each in self.candidates if each.fault)


class TuningObserver(Protocol):
    """Callbacks for the progress of a search."""

    def candidate(self, number: int, total: int, candidate: TuningCandidate) -> None:
        """Handle a candidate that was tried, or that an earlier search had tried."""

    def confirming(self, best: TuningCandidate) -> None:
        """Handle the start of the second measurement of the best candidate."""


@dataclass(frozen=True)
class TuningSearch:
    """The arguments of a search over a kernel's tunables for one element type and size.

    `journal` is the file of tried candidates. `size` None is the device's headline size. `seconds`
    is the time budget.
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
    search: TuningSearch,
    players: MatchRunner,
    observer: TuningObserver,
    *,
    clock: Callable[[], float] = monotonic,
) -> TuningResult:
    """Try candidates until the time is up or all are tried, and confirm the best one.

    Each candidate is verified at small sizes and at the timed size, before and after timing, and
    timed in pairs with the defaults by `players`. The best one wins only if a longer measurement,
    in pairs again, is FASTER. Candidates of earlier searches of the same kernel on the same device
    count.

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
    bench = _Evaluator(device, search, players)
    bench.check_defaults()
    end = clock() + search.seconds
    journal = _open_journal(device, search)
    tried = [TuningCandidate(*each) for each in journal.read_candidates()]
    for number, candidate in enumerate(tried, 1):
        observer.candidate(number, journal.size, candidate)
    while clock() < end and (found := _try_next(bench, journal)) is not None:
        tried.append(found)
        observer.candidate(len(tried), journal.size, found)
    best, ratio, tried = _confirm_best(bench, tried, observer)
    tuning = _build_tuning(device, search, best, ratio, candidates=len(tried))
    return TuningResult(tuning, tuple(tried), ratio, len(tried) >= journal.size)


@dataclass(frozen=True)
class _Evaluator:
    """Compares candidates with the defaults."""

    device: DeviceFacts
    search: TuningSearch
    players: MatchRunner

    @property
    def defaults(self) -> str:
        """The name of the kernel with its defaults."""
        return f"{self.search.entry.name} with its defaults"

    def check_defaults(self) -> None:
        """Raise WrongKernelError if the kernel is wrong with its defaults."""
        plan = replace(self.search.candidate_plan, seconds=DEFAULTS_S)
        self._measure({}, self.defaults, plan)

    def try_values(self, values: Values) -> TuningCandidate:
        """Verify and time values shortly; raises WrongKernelError if the defaults are wrong."""
        try:
            measured = self._against_defaults(values, self.search.candidate_plan)
        except WrongKernelError as error:
            if error.name == self.defaults:
                raise
            return TuningCandidate(values, None, error.finding)
        assert measured.ratio is not None
        return TuningCandidate(values, measured.ratio.value)

    def confirm(self, values: Values) -> Interval | None:
        """Return the ratio of values on other inputs if FASTER; raises WrongKernelError."""
        plan = self.search.confirmation_plan
        measured = self._against_defaults(values, plan, self.search.seed + 1)
        return measured.ratio if measured.verdict is Verdict.FASTER else None

    def _against_defaults(self, values: Values, plan: Plan, seed: int | None = None) -> Measurement:
        return self._measure(
            values, f"{self.search.entry.name} with {format_tunables(values)}", plan, seed
        )

    def _measure(
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
        outcome = run_match(self.players, self.device, match, Silent())
        return require_measurement(match, outcome)


def _try_next(bench: _Evaluator, journal: Journal) -> TuningCandidate | None:
    """Try the next candidate and store it; None if all were tried."""
    trial = journal.next()
    if trial is None:
        return None
    candidate = bench.try_values(dict(trial.params))
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


def _open_journal(device: DeviceFacts, search: TuningSearch) -> Journal:
    """Open the journal of a search, with the defaults in it."""
    name = _name_search(device, search)
    journal = Journal(search.journal, name, search.kernel.tunables, seed=search.seed)
    journal.add(search.kernel.resolve_tunables(dtype=search.dtype), 1.0)
    return journal


def _build_tuning(
    device: DeviceFacts,
    search: TuningSearch,
    values: Values,
    ratio: Interval | None,
    *,
    candidates: int,
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


def _name_search(device: DeviceFacts, search: TuningSearch) -> str:
    """Return the identity of the search: device, execution mode, kernel, type and size."""
    size = search.size_on(device)
    parts = (
        *(device.kind, device.name, str(device.cores), engine_on(device.kind)),
        *(search.kernel.hash, search.dtype, size),
    )
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{search.entry.name}-{search.dtype}-{size}-{digest[:16]}"


def _confirm_best(
    bench: _Evaluator, tried: list[TuningCandidate], observer: TuningObserver
) -> tuple[Values, Interval | None, list[TuningCandidate]]:
    """Return the winner and its ratio, and the candidates with the result of the confirmation."""
    defaults = bench.search.kernel.resolve_tunables(dtype=bench.search.dtype)
    while True:
        best = max(tried, key=lambda each: each.ratio or 0.0)
        if best.values == defaults:
            return defaults, None, tried
        observer.confirming(best)
        try:
            ratio = bench.confirm(best.values)
        except WrongKernelError as error:
            if error.name == bench.defaults:
                raise
            # Wrong on other inputs than before: try the next best.
            wrong = TuningCandidate(best.values, None, error.finding)
            tried = [wrong if each is best else each for each in tried]
            continue
        return (defaults if ratio is None else best.values), ratio, tried
