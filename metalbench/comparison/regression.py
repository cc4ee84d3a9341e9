"""What became slower: a run against a baseline, or each kernel against its own past."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metalbench.comparison.compare import compare
from metalbench.comparison.past import Past, pasts
from metalbench.comparison.result_set import ResultSet
from metalbench.stats import Judgement, Verdict
from metalbench.store import Store

# Earlier results of a task that the best is looked for among.
MOST_RESULTS = 200


@dataclass(frozen=True, slots=True)
class Regression:
    """A kernel that is SLOWER than it was, by `judgement`; `against` names what it was."""

    task: str
    dtype: str
    size: str
    against: str
    judgement: Judgement

    @property
    def key(self) -> tuple[str, str, str]:
        """Which result it is about."""
        return self.task, self.dtype, self.size


def regressions(
    store: Store, run: int, *, baseline: ResultSet | None = None, allowed: float = 0.0
) -> list[Regression]:
    """Kernels of run number `run` that take surely more than `allowed` (0.05: 5 %) longer.

    They are compared with `baseline`, or without it with their own results before: the last one
    and the best. Sure is what the whole interval of the ratio says. Raises MetalBenchError if run
    and baseline do not compare.
    """
    found = _past(store, run) if baseline is None else _against(store, run, baseline)
    return [each for each in found if _is_slower(each.judgement, allowed)]


def _is_slower(judgement: Judgement, allowed: float) -> bool:
    return judgement.verdict is Verdict.SLOWER and judgement.ratio.high < 1 / (1 + allowed)


def _against(store: Store, run: int, baseline: ResultSet) -> Iterator[Regression]:
    compared = compare(baseline, ResultSet.of_run(store, run, f"run:{run}")).compared
    for each in compared:
        yield Regression(each.task, each.dtype, each.size, baseline.name, each.judgement)


def _past(store: Store, run: int) -> Iterator[Regression]:
    for task in dict.fromkeys(entry.task for entry in store.results(run)):
        for past in pasts(store.history(task, MOST_RESULTS)):
            if past.latest is not None and past.latest.run == run:
                yield from _of_past(past)


def _of_past(past: Past) -> Iterator[Regression]:
    latest = past.latest
    assert latest is not None
    judged = (("the result before", past.against_previous), ("its best", past.against_best))
    for against, judgement in judged:
        if judgement is not None and judgement.verdict is Verdict.SLOWER:
            yield Regression(latest.task, latest.dtype, latest.size, against, judgement)
            return
