"""Report the decisions on results that may become records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalbench.leaderboard import Decision, Ruling
from metalbench.report import numbers
from metalbench.report.labels import label

NAMES = {
    Decision.FIRST: "first",
    Decision.NEW: "new",
    Decision.STANDS: "unbeaten",
    Decision.REFUSED: "refused",
}


def ruling_lines(rulings: Sequence[Ruling]) -> Iterator[str]:
    """Yield a line for each result that met a record or was refused, and their counts."""
    for each in rulings:
        if each.gains or each.decision is Decision.REFUSED:
            yield ruling_line(each)
    decisions = [each.decision for each in rulings]
    counts = [
        f"{decisions.count(each)} {name}" for each, name in NAMES.items() if each in decisions
    ]
    if counts:
        yield f"Records: {', '.join(counts)}. `metalbench leaderboard` shows them."


def ruling_line(ruling: Ruling) -> str:
    """Return ``softmax (seed): new record: FASTER than the record ...``, with the gains."""
    place = ruling.place
    about = label(place.task, place.dtype, place.size)
    gains = " and ".join(map(numbers.ratio, ruling.gains))
    line = f"{about}: {ruling.decision.value}: {ruling.why}"
    return f"{line}: {gains} as fast." if gains else f"{line}."
