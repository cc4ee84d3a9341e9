"""A series in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

from metalbench.stats import MARGIN

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "12345678"
MISSING = "!"


def sparkline(values: Sequence[float | None], *, encoding: str = "utf-8") -> str:
    """``▁▃█``: a block for each value, as high as it lies between the least and the greatest.

    Missing values are ``!``. What differs by less than twice the margin of verdicts is one height:
    a line must not make mountains of noise. Digits stand for blocks where they cannot be encoded.
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
