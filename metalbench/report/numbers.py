"""Format numbers. All rounding and all units of output are here.

The digits follow the interval: the last digit has the order of the half-width, so that a number
claims no more than was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from metalbench.stats import FARTHEST, MARGIN, Interval

TIME_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
BYTE_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
MOST_DECIMALS = 4
MOST_DECIMALS_OF_TINY = 15
MOST_PERCENT = 1000
UNCARRIED = "(no interval)"
UNCARRIED_MEANS = (
    "(no interval): the samples are too few, or scatter too much, for an interval; more come with "
    "--time."
)
ONE_SIDED_MEANS = "[>= low], [<= high]: the other end is more than 100 times off; measure longer."
# A change by more than this factor is printed as "more than 10 times".
LARGEST_CHANGE = 10.0
MISSING = "-"


def with_interval(interval: Interval, unit: str = "") -> str:
    """Return ``12.34 us [12.31, 12.38]``, with the ends of `ends`."""
    return f"{estimate(interval)}{unit} {ends(interval)}"


def estimate(interval: Interval) -> str:
    """Return the interval's value with its significant digits."""
    return f"{interval.value:.{_decimals(interval)}f}"


def ends(interval: Interval) -> str:
    """Return the interval's ends in brackets.

    An end that is infinite or absurdly far away is left out: ``[>= 0.4]``, ``(no interval)``.
    """
    low, high = interval.useful_ends
    decimals = _decimals(interval)
    if low is None and high is None:
        return UNCARRIED
    if low is None:
        return f"[<= {high:.{decimals}f}]"
    if high is None:
        return f"[>= {low:.{decimals}f}]"
    return f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def in_time_unit(nanoseconds: Interval) -> tuple[Interval, str]:
    """Rescale a time to its best unit: the interval and `` us``."""
    scale, unit = next(
        (each for each in TIME_UNITS if nanoseconds.value >= each[0]), TIME_UNITS[-1]
    )
    return nanoseconds.scale(1.0 / scale), f" {unit}"


def time(nanoseconds: Interval | None) -> str:
    """Return ``12.34 us [12.31, 12.38]``, or a dash if nothing was measured."""
    return MISSING if nanoseconds is None else with_interval(*in_time_unit(nanoseconds))


def ratio(interval: Interval | None) -> str:
    """Return ``1.23x [1.21, 1.25]``, or a dash without a reference."""
    return MISSING if interval is None else with_interval(interval, "x")


def significant(value: float, digits: int = 3) -> str:
    """Return ``0.00123``, ``12.3`` or ``1234``: `digits` significant digits, without exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def change(fraction: float) -> str:
    """Return ``34 % longer``, or ``more than 10 times as long`` for an absurdly large change."""
    if fraction + 1.0 > LARGEST_CHANGE:
        return f"more than {LARGEST_CHANGE:g} times as long"
    return f"{100 * fraction:.0f} % longer"


def factor(times: float) -> str:
    """Return ``5.0 times``, with at most FARTHEST times."""
    return f"more than {FARTHEST:g} times" if times > FARTHEST else f"{times:.1f} times"


def percent(fraction: float) -> str:
    """Return ``4.0 %``, with at most MOST_PERCENT: more is only a disturbed machine."""
    if 100 * fraction > MOST_PERCENT:
        return f"more than {MOST_PERCENT} %"
    return f"{100 * fraction:.1f} %"


def short_time(nanoseconds: float) -> str:
    """Return ``12.3 us``: a time without an interval, such as a clock's tick."""
    scale, unit = next((each for each in TIME_UNITS if nanoseconds >= each[0]), TIME_UNITS[-1])
    return f"{significant(nanoseconds / scale)} {unit}"


def duration(seconds: float) -> str:
    """Return ``3.2 s`` or ``2 min 07 s``: the duration of a run."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def size(nbytes: float) -> str:
    """Return ``512 B`` or ``4.00 MiB``."""
    for scale, unit in BYTE_UNITS:
        if nbytes >= scale:
            return f"{significant(nbytes / scale)} {unit}"
    return f"{nbytes:.0f} B"


def quantity(value: float, unit: str) -> str:
    """Return ``5.24 MFLOP``: a large count with an SI prefix."""
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{significant(value / scale)} {prefix}{unit}"
    return f"{value:g} {unit}"


def count(number: int, noun: str) -> str:
    """Return ``1 kernel`` or ``2 kernels``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _decimals(interval: Interval) -> int:
    low, high = interval.useful_ends
    half_width = 0.0 if low is None or high is None else (high - low) / 2
    if half_width == 0:
        half_width = abs(interval.value) / 100
    if half_width == 0:
        return 0
    # A wide interval must not reduce an estimate of 2.4 to 2: two digits are always shown.
    smallest = min(half_width, abs(interval.value) / 10 or half_width)
    # A value below 0.01 needs more decimals for its first three digits.
    leading = 0 if interval.value == 0 else -math.floor(math.log10(abs(interval.value)))
    most = max(MOST_DECIMALS, min(leading + 2, MOST_DECIMALS_OF_TINY))
    return min(most, max(0, -math.floor(math.log10(smallest))))


# Labels of kernels in reports with several sizes or element types of one task.


def label(task: str, dtype: str, size: str = "") -> str:
    """Return ``softmax``, ``softmax (float16)`` or ``softmax (float16, large)``."""
    about = [each for each in (dtype if dtype != "float32" else "", size) if each]
    return f"{task} ({', '.join(about)})" if about else task


# A series as one line of text.

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "12345678"
SPARKLINE_MISSING = "!"


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
        return "".join(SPARKLINE_MISSING if value is None else middle for value in values)
    scale = (len(blocks) - 1) / (most - least)
    return "".join(
        SPARKLINE_MISSING if value is None else blocks[round(scale * (value - least))]
        for value in values
    )
