"""Which of MLX's forms a sample is compared with."""

from __future__ import annotations

from metalbench.stats import Interval
from metalbench.store.evaluations import Evaluation

# `compared` is what the measurement was paired with: the fastest form.
BASELINES = ("compared", "eager", "compiled", "fast")
COMPILED = "mx.compile: "
FAST = "mx.fast"


def classify_form(form: str) -> str:
    """The kind of a form by its name: "eager", "compiled" or "fast"."""
    if form.startswith(COMPILED):
        return "compiled"
    return "fast" if form == FAST else "eager"


def compute_ratio(evaluation: Evaluation, baseline: str) -> Interval | None:
    """The time of a baseline over the sample's; None where either was not timed.

    Of a form that was timed by itself, and not in pairs with the sample, the ends are the least and
    the greatest ratio that both intervals leave.
    """
    if baseline == "compared":
        return evaluation.ratio
    own = evaluation.kernel_ns
    for name, time in evaluation.forms:
        if classify_form(name) == baseline and own is not None:
            return Interval(time.value / own.value, time.low / own.high, time.high / own.low)
    return None
