"""A series as one line of text."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.stats import MARGIN

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "12345678"
MISSING = "!"


def sparkline(values: Sequence[float | None], *, encoding: str = "utf-8") -> str:
    """Return ``▁▃█``: a block for each value, scaled between the least and the greatest.

    Missing values are ``!``. Values within twice the margin of verdicts have one height, so that
    noise is not enlarged. Digits replace blocks if the encoding lacks them.
    """
    blocks = BLOCKS if encoding.lower().startswith("utf") else PLAIN
    known = [value for value in values if value is not None]
    least, most = min(known, default=0.0), max(known, default=0.0)
    if most - least <= 2.0 * MARGIN * abs(most):
        middle = blocks[len(blocks) // 2 - 1]
        return "".join(MISSING if value is None else middle for value in values)
    scale = (len(blocks) - 1) / (most - least)
    return "".join(
        MISSING if value is None else blocks[round(scale * (value - least))] for value in values
    )
