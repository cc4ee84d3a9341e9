"""Rank the values of a kernel's tunables by their predicted times on an Apple GPU."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np

from metalbench.errors import DeclarationError, DispatchError, Unsupported
from metalbench.kernel.header import Kernel
from metalbench.profiling.gpu_chips import GpuChip
from metalbench.profiling.prediction import (
    DECIDED,
    Prediction,
    measure_kernel,
    predict_works,
    probability_faster,
)
from metalbench.task import Task


@dataclass(frozen=True)
class PredictedCandidate:
    """Values of tunables with their prediction; None with the `fault` where there is none."""

    values: dict[str, int]
    prediction: Prediction | None
    fault: str = ""


@dataclass(frozen=True)
class PredictedTuning:
    """The candidates of a search, the fastest first, and the defaults.

    `probability` is that of the best being faster than the defaults.
    """

    chip: GpuChip
    defaults: PredictedCandidate
    candidates: tuple[PredictedCandidate, ...]
    complete: bool

    @property
    def best(self) -> PredictedCandidate:
        """The candidate with the least predicted time, or the defaults."""
        found = [each for each in self.candidates if each.prediction is not None]
        return found[0] if found else self.defaults

    @property
    def probability(self) -> float:
        """The probability that the best candidate is faster than the defaults."""
        if self.best.prediction is None or self.defaults.prediction is None:
            return math.nan
        return probability_faster(self.best.prediction, self.defaults.prediction)

    @property
    def is_decided(self) -> bool:
        """Return whether the best candidate is faster than the defaults, as far as is known."""
        return self.probability >= DECIDED

    @property
    def header_lines(self) -> tuple[str, str]:
        """The lines that set the best values on the chip: a comment that they are predicted."""
        values = ", ".join(f"{name} = {value}" for name, value in self.best.values.items())
        return (
            f"// Predicted for {self.chip.name}, not measured.",
            f"// defaults: {self.chip.key} {values}",
        )


def tune_by_prediction(
    kernel: Kernel,
    task: Task,
    size: str,
    chip: GpuChip,
    *,
    dtype_name: str,
    seconds: float,
    seed: int = 0,
    observe: Callable[[PredictedCandidate], None] = lambda _: None,
) -> PredictedTuning:
    """Predict candidates in random order until the time is up. Raise DeclarationError.

    The kernel has the defaults of the chip: `kernel.on(device_names(chip.target))`. Nothing is
    verified or timed: `metalbench tune` on a Mac does both.
    """
    if not kernel.tunables:
        raise DeclarationError(f"[{kernel.name}] expected a `// tune:` line, got none")
    names = list(kernel.tunables)
    choices = list(itertools.product(*(kernel.tunables[name] for name in names)))
    order = np.random.default_rng(seed).permutation(len(choices))
    end = monotonic() + seconds

    def predict(values: dict[str, int]) -> PredictedCandidate:
        try:
            works = measure_kernel(
                kernel, task, size, dtype_name=dtype_name, tunables=values, seed=seed
            )
            found = PredictedCandidate(values, predict_works(kernel.name, size, chip, works))
        except (Unsupported, DispatchError, DeclarationError) as error:
            found = PredictedCandidate(values, None, str(error))
        observe(found)
        return found

    defaults = predict(kernel.resolve_tunables(dtype=dtype_name))
    tried = [defaults]
    for number in order.tolist():
        values = dict(zip(names, choices[number], strict=True))
        if values != defaults.values and monotonic() < end:
            tried.append(predict(values))
    return PredictedTuning(chip, defaults, _sort(tried), len(tried) == len(choices))


def _sort(tried: Sequence[PredictedCandidate]) -> tuple[PredictedCandidate, ...]:
    def key(each: PredictedCandidate) -> float:
        return each.prediction.seconds if each.prediction is not None else math.inf

    return tuple(sorted(tried, key=key))
