"""Values of a kernel's tunables that a search found to be the best on one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.stats import Interval


def format_tunables(values: Mapping[str, int]) -> str:
    """Return ``TG = 128, KEEP = 4``."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of `metalbench tune` for one kernel, with the hash of its file and headers.

    `engine` is the execution mode of the cpu device, empty for a GPU: the best values differ much.
    `ratio` is the time of the defaults over that of `values`; None if nothing was faster than the
    defaults, which then are `values`. `candidates` is the number of candidates tried, `found_at` an
    instant, ISO 8601 in UTC.
    """

    task: str
    dtype: str
    size: str
    source_hash: str
    engine: str
    values: Mapping[str, int]
    ratio: Interval | None
    candidates: int
    found_at: str

    def __str__(self) -> str:
        """Return the origin of the values as a phrase for reports."""
        of = f"of {self.candidates} candidates on {self.found_at[:10]} at size {self.size}"
        if self.ratio is None:
            return f"the defaults, the best {of}"
        return f"the best {of}, {self.ratio.value:.2f} times as fast as the defaults"
