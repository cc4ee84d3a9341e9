"""Control the false discovery rate among the verdicts of a suite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.verdict import Verdict

# The expected share of chance among all differences that a suite reports is at most this.
FALSE_DISCOVERY_RATE = 0.05


def benjamini_hochberg(
    p_values: Sequence[float], rate: float = FALSE_DISCOVERY_RATE
) -> NDArray[np.bool_]:
    """Return which of independent tests are significant together, shape (n,).

    References
    ----------
    Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57
    (1995): all p-values up to the largest that is at most rank / n of `rate`.
    """
    values = np.asarray(p_values, dtype=np.float64)
    ordered = np.sort(values)
    passing = ordered[ordered <= rate * np.arange(1, values.size + 1) / values.size]
    return np.asarray(values <= (passing[-1] if passing.size else -1.0), dtype=np.bool_)


def control_false_discoveries(
    verdicts: Sequence[Verdict],
    p_values: Sequence[float],
    rate: float = FALSE_DISCOVERY_RATE,
) -> list[Verdict]:
    """Return a suite's verdicts, with differences that are not significant together INCONCLUSIVE.

    Parameters
    ----------
    verdicts, p_values
        One of each for every task, the p-values as from `ratio_p_value`.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    if len(verdicts) != len(p_values):
        raise ValueError(
            f"control_false_discoveries: expected a p-value for each of {len(verdicts)} verdicts, "
            f"got {len(p_values)}"
        )
    differences = (Verdict.FASTER, Verdict.SLOWER)
    return [
        Verdict.INCONCLUSIVE if verdict in differences and not survives else verdict
        for verdict, survives in zip(verdicts, benjamini_hochberg(p_values, rate), strict=True)
    ]
