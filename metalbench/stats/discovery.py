"""How many of a suite's differences would be chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from metalbench.stats.verdict import Verdict

# Of all differences that a suite reports, at most this part is chance.
FALSE_DISCOVERY_RATE = 0.05


def discoveries(p_values: Sequence[float], rate: float = FALSE_DISCOVERY_RATE) -> NDArray[np.bool_]:
    """Which of independent tests are significant together, shape (n,).

    References
    ----------
    Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57
    (1995): all p-values up to the largest that is at most its rank's part of `rate`.
    """
    values = np.asarray(p_values, dtype=np.float64)
    ordered = np.sort(values)
    passing = ordered[ordered <= rate * np.arange(1, values.size + 1) / values.size]
    return np.asarray(values <= (passing[-1] if passing.size else -1.0), dtype=np.bool_)


def surviving_verdicts(
    verdicts: Sequence[Verdict],
    p_values: Sequence[float],
    rate: float = FALSE_DISCOVERY_RATE,
) -> list[Verdict]:
    """The verdicts of a suite, with the differences that do not survive made INCONCLUSIVE.

    Parameters
    ----------
    verdicts, p_values
        One of each for every task; `ratio_p_value` has the latter.

    Raises
    ------
    ValueError
        If there are not as many of one as of the other.
    """
    if len(verdicts) != len(p_values):
        raise ValueError(
            f"surviving_verdicts: expected a p-value for each of {len(verdicts)} verdicts, "
            f"got {len(p_values)}"
        )
    differences = (Verdict.FASTER, Verdict.SLOWER)
    return [
        Verdict.INCONCLUSIVE if verdict in differences and not survives else verdict
        for verdict, survives in zip(verdicts, discoveries(p_values, rate), strict=True)
    ]
