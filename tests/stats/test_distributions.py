"""Probabilities and quantiles beside those of scipy."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import scipy.special  # type: ignore[import-untyped,unused-ignore]

from metalbench.stats import distributions

DEGREES = (1, 2, 3, 4, 7, 11, 30, 64, 1000)
COUNTS = (1, 2, 3, 5, 12, 31, 64, 333, 1000, 4096)
CASES = {
    "normal_cdf": (scipy.special.ndtr, [(z / 4,) for z in range(-150, 33)]),
    "normal_quantile": (
        scipy.special.ndtri,
        [
            *((10.0**-each,) for each in range(1, 300, 7)),
            *((each / 64,) for each in range(65)),
            *((1 - 10.0**-each,) for each in range(2, 15)),
        ],
    ),
    "binomial_cdf": (
        scipy.special.bdtr,
        [
            (most, count, p)
            for count in COUNTS
            for most in {0, 1, count // 2, max(0, count // 2 - math.isqrt(count)), count - 1, count}
            for p in (0.5, 0.01, 0.3, 0.77, 1 / count)
        ],
    ),
    "student_cdf": (
        scipy.special.stdtr,
        list(product(DEGREES, (-40.0, -3.5, -1.0, -1e-3, 0.0, 0.4, 2.0, 9.0))),
    ),
    "student_quantile": (
        scipy.special.stdtrit,
        list(product(DEGREES, (0.5, 0.55, 0.9, 0.975, 0.99, 0.9995, 1 - 1e-6))),
    ),
    "f_tail": (
        scipy.special.fdtrc,
        list(product((1, 2, 5, 30, 127), (1, 3, 14, 400), (0.0, 1e-3, 0.5, 1.0, 1.3, 5.0, 300.0))),
    ),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", CASES)
def test_each_is_what_scipy_says_to_ten_digits(name: str) -> None:
    theirs, cases = CASES[name]
    ours: Callable[..., float] = getattr(distributions, name)
    for arguments in cases:
        expected = float(theirs(*arguments))
        if 0.0 < abs(expected) < 1e-290:
            continue  # the last of them have few bits left
        assert ours(*arguments) == pytest.approx(expected, rel=1e-10, abs=1e-300), arguments


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("normal_quantile", (-0.1,)),
        ("normal_quantile", (math.nan,)),
        ("student_quantile", (3, 0.4)),
        ("student_quantile", (3, 1.0)),
    ],
)
def test_what_is_no_probability_is_refused(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="p: expected a probability"):
        getattr(distributions, name)(*arguments)


def test_nothing_that_judges_imports_scipy() -> None:
    code = (
        "import sys, numpy as np; from metalbench.stats import assess, find_drift, find_modes\n"
        "from metalbench.stats.crosscheck import bootstrap_median\n"
        "draw = np.random.default_rng(0); a, b = draw.lognormal(size=(2, 200))\n"
        "first = draw.random(200) < 0.5\n"
        "for each in (a, np.sort(a)):\n"
        "    assess(each, b, candidate_first=first, look=np.repeat(np.arange(8), 25))\n"
        "    find_drift(np.log(each)); find_modes(np.log(each), 0.0); bootstrap_median(each[:63])\n"
        "assert not [each for each in sys.modules if each.startswith('scipy')]"
    )
    program = f"import sys; sys.path[:] = {sys.path!r}\n{code}"
    subprocess.run([sys.executable, "-c", program], check=True)
