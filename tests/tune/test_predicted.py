"""Tunables that are ranked by predicted times."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.errors import DeclarationError
from metalbench.kernel.library import find
from metalbench.profiling.prediction import find_gpu_chip
from metalbench.tune.predicted import tune_by_prediction


def test_tune_by_prediction_sorts_candidates() -> None:
    (entry,) = find(["argmax"], None, ())
    kernel = entry.kernel()
    few = replace(kernel, tunables={"TG": (1024, 32), "LEAST": (32,)})
    found = tune_by_prediction(
        few,
        entry.task,
        "small",
        "m2_pro",
        find_gpu_chip("m2_pro"),
        dtype_name="float32",
        seconds=60,
    )
    times = [each.prediction.seconds for each in found.candidates if each.prediction is not None]
    assert found.complete
    assert len(times) == 2
    assert times == sorted(times)
    assert found.defaults.values == {"TG": 1024, "LEAST": 32}
    assert found.header_line.startswith("// defaults: m2 TG = ")


def test_tune_by_prediction_needs_tunables() -> None:
    (entry,) = find(["relu"], None, ())
    kernel = replace(entry.kernel(), tunables={})
    chip = find_gpu_chip("m2")
    with pytest.raises(DeclarationError, match="tune:"):
        tune_by_prediction(kernel, entry.task, "small", "m2", chip, dtype_name="float32", seconds=1)


def test_tune_refuses_an_unknown_objective() -> None:
    said = CliRunner().invoke(main, ["tune", "argmax", "--objective", "predict:m2"])
    assert said.exit_code == 2
    assert "predicted:CHIP" in said.output
