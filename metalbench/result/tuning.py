"""Values of a kernel's tunables that a search has found to be the best on one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metalbench.stats import Interval


def spelled(values: Mapping[str, int]) -> str:
    """``TG = 128, KEEP = 4``."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


@dataclass(frozen=True, slots=True)
class Tuning:
    """What `metalbench tune` found for one kernel: file and headers have the hash `source_hash`.

    `engine` is as what the cpu device ran it, empty of a GPU: what is best differs much. `ratio` is
    the time of the defaults over that of `values`, None where nothing was faster than the defaults,
    which are `values` then. `candidates` counts what was tried, `found_at` is an instant, ISO 8601
    in UTC.
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
        """Where the values come from, as a phrase for reports."""
        of = f"of {self.candidates} candidates on {self.found_at[:10]} at size {self.size}"
        if self.ratio is None:
            return f"the defaults, the best {of}"
        return f"the best {of}, {self.ratio.value:.2f} times as fast as the defaults"
