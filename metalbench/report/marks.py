"""Marks for missing or weak verdicts, with evidence and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from metalbench.report import numbers
from metalbench.report.labels import label
from metalbench.result import Result
from metalbench.stats import Verdict

if TYPE_CHECKING:
    from metalbench.measure import Measurement

LAUNCH_BOUND = "LAUNCH-BOUND"
# Reasons for measurements that were stored without their judgement.
UNKNOWN = {
    Verdict.INCONCLUSIVE: "the samples do not carry a verdict; measure longer, with --time",
    Verdict.THROTTLED: "the device's clock stayed low; let the machine cool, and measure again",
}


def format_marks(results: Sequence[Result]) -> Iterator[str]:
    """Yield ``softmax: INCONCLUSIVE: the ratio's interval is 4.0% wide, ...; measure ...``."""
    cases = [result.case for result in results]
    several = len({case.dtype for case in cases}) > 1
    sizes = len({case.size for case in cases}) > 1
    for result in results:
        if result.measurement is None:
            continue
        case = result.case
        about = label(case.task, case.dtype if several else "float32", case.size if sizes else "")
        for mark, why in list_marks(result.measurement):
            yield f"{about}: {mark}: {why}."


def list_marks(measured: Measurement) -> Iterator[tuple[str, str]]:
    """Yield every mark of a missing or weak verdict, with its reason and remedy."""
    if measured.verdict in (Verdict.INCONCLUSIVE, Verdict.THROTTLED):
        judgement = measured.judgement
        known = judgement.reasons if judgement is not None else ()
        for reason in known or (UNKNOWN[measured.verdict],):
            yield measured.verdict.value, str(reason)
    if measured.launch_bound:
        yield (
            LAUNCH_BOUND,
            f"a pass takes {numbers.short_time(measured.work_ns.value)}, an empty kernel of its "
            f"shape {numbers.short_time(measured.work_floor_ns)}: this measures the dispatch, not "
            "the work; take a larger --size",
        )
