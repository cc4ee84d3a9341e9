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
from metalbench.comparison.head_to_head import (
    Contest,
    WrongKernelError,
    check_side,
    head_to_head,
)
from metalbench.errors import (
    DeclarationError,
    Disturbed,
    MachineError,
    MetalBenchError,
    TaskError,
)
from metalbench.measure import Plan
from metalbench.result.environment import engine_on
from metalbench.result.tuning import Tuning, spelled
from metalbench.stats import Interval, Verdict
from metalbench.tuning.journal import Journal, Values
from metalbench.verify.examine import Yardsticks

if TYPE_CHECKING:
    from metalbench._core import Device
    from metalbench.kernel import Kernel
    from metalbench.task import Task

# Of one candidate, which is to be better than the best so far, and of the last word on the winner.
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
    `yardsticks` are the reference's by size, as far as known.
    """

    task: Task
    kernel: Kernel
    journal: Path
    dtype: str = "float32"
    size: str | None = None
    seconds: float = 60.0
    seed: int = 0
    candidate_plan: Plan = field(default_factory=lambda: Plan(seconds=CANDIDATE_S))
    confirmation_plan: Plan = field(default_factory=lambda: Plan(seconds=CONFIRMATION_S))
    yardsticks: dict[str, Yardsticks] = field(default_factory=dict)


def tune(
    device: Device,
    search: Search,
    observer: Observer,
    *,
    clock: Callable[[], float] = monotonic,
) -> Found:
    """Try candidates until the time is up or none is left, and confirm the best one.

    Each is verified at small sizes and at the one that is timed, before and after, and timed in
    pairs with the defaults. The best one wins only if a longer measurement, in pairs again, calls
    it FASTER. What was tried in earlier searches of the same kernel on the same device counts.

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
    end = clock() + search.seconds
    check_side(device, _contest(search, {}), 0)
    journal = Journal(
        search.journal, _name(device, search), search.kernel.tunables, seed=search.seed
    )
    journal.add(search.kernel.tuned(), 1.0)
    tried = [Candidate(*each) for each in journal.known()]
    for number, candidate in enumerate(tried, 1):
        observer.candidate(number, journal.size, candidate)
    while clock() < end and (trial := journal.next()) is not None:
        candidate = _tried(device, search, dict(trial.params))
        if candidate.ratio is None:
            journal.tell_fault(trial, candidate.fault)
        else:
            journal.tell(trial, candidate.ratio)
        tried.append(candidate)
        observer.candidate(len(tried), journal.size, candidate)
    best, ratio, tried = _best(device, search, tried, observer)
    tuning = _tuning(device, search, best, ratio, candidates=len(tried))
    return Found(tuning, tuple(tried), ratio, len(tried) >= journal.size)


def _expect_tunables(kernel: Kernel) -> None:
    if not kernel.tunables:
        raise DeclarationError(
            f"[{kernel.name}] {kernel.path.name} has nothing to tune; a line such as "
            "`// tune: TG = 256, 128, 512` names a macro and the values worth trying"
        )


def _tuning(
    device: Device, search: Search, values: Values, ratio: Interval | None, *, candidates: int
) -> Tuning:
    return Tuning(
        task=search.task.name,
        dtype=search.dtype,
        size=_contest(search, values).size_on(device.kind),
        source_hash=search.kernel.hash,
        engine=engine_on(device.kind),
        values=values,
        ratio=ratio,
        candidates=candidates,
        found_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )


def _name(device: Device, search: Search) -> str:
    """What identifies the search, for what was tried under other circumstances does not count."""
    size = _contest(search, {}).size_on(device.kind)
    parts = (
        *(device.kind, device.name, str(device.cores), engine_on(device.kind)),
        *(search.kernel.hash, search.dtype, size),
    )
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{search.task.name}-{search.dtype}-{size}-{digest[:16]}"


def _contest(search: Search, values: Values) -> Contest:
    return Contest(
        search.task,
        search.kernel,
        search.kernel,
        names=(
            f"{search.task.name} with its defaults",
            f"{search.task.name} with {spelled(values)}",
        ),
        dtype=search.dtype,
        size=search.size,
        plan=replace(search.candidate_plan, seed=search.seed),
        tunables=({}, values),
        knows_before=True,
        also_sizes=tuple(verify.small_sizes(search.task)),
        yardsticks=search.yardsticks,
    )


def _tried(device: Device, search: Search, values: Values) -> Candidate:
    try:
        _, measured = head_to_head(device, _contest(search, values))
    except (MachineError, TaskError, Disturbed):
        raise  # no value is to blame
    except WrongKernelError as error:
        return Candidate(values, None, error.finding)
    except MetalBenchError as error:
        return Candidate(values, None, str(error))
    assert measured.ratio is not None
    return Candidate(values, measured.ratio.value)


def _best(
    device: Device, search: Search, tried: list[Candidate], observer: Observer
) -> tuple[Values, Interval | None, list[Candidate]]:
    """Return the winner and its ratio, and the candidates with what the last measurement found."""
    defaults = search.kernel.tuned()
    while True:
        best = max(tried, key=lambda each: each.ratio or 0.0)
        if best.values == defaults:
            return defaults, None, tried
        observer.confirming(best)
        try:
            ratio = _confirmed(device, search, best.values)
        except WrongKernelError as error:
            # On other inputs than before. The next best may be right.
            wrong = Candidate(best.values, None, error.finding)
            tried = [wrong if each is best else each for each in tried]
            continue
        return (defaults if ratio is None else best.values), ratio, tried


def _confirmed(device: Device, search: Search, values: Values) -> Interval | None:
    contest = replace(
        _contest(search, values),
        plan=replace(search.confirmation_plan, seed=search.seed + 1),
        knows_before=False,
    )
    _, measured = head_to_head(device, contest)
    return measured.ratio if measured.verdict is Verdict.FASTER else None
