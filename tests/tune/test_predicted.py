"""Tunables that are ranked by predicted times."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from metalbench.cli import main
from metalbench.errors import DeclarationError
from metalbench.kernel.header import device_names, parse
from metalbench.kernel.library import find
from metalbench.profiling.prediction import find_gpu_chip
from metalbench.tune.predicted import tune_by_prediction

SOURCE = "// dispatch: relu threads_in_grid=(n) threads=(TG)\n"


def test_tune_by_prediction_sorts_candidates() -> None:
    (entry,) = find(["argmax"], None, ())
    few = replace(entry.kernel(), tunables={"TG": (1024, 32), "LEAST": (32,)})
    found = tune_by_prediction(
        few,
        entry.task,
        "small",
        find_gpu_chip("M2-Pro"),
        dtype_name="float32",
        seconds=60,
    )
    times = [each.prediction.seconds for each in found.candidates if each.prediction is not None]
    assert found.complete
    assert len(times) == 2
    assert times == sorted(times)
    assert found.defaults.values == {"TG": 1024, "LEAST": 32}
    comment, line = found.header_lines
    assert "not measured" in comment
    source = "\n".join(["// tune: TG = 1024, 32", "// tune: LEAST = 32", comment, line, SOURCE])
    read = parse(source, name="argmax", path=Path("argmax.metal"), chip=None)
    assert read.on(("m2_pro", "m2", "metal")).resolve_tunables() == found.best.values
    assert read.on(("m2", "metal")).resolve_tunables() == {"TG": 1024, "LEAST": 32}


def test_tune_by_prediction_starts_with_the_chips_defaults() -> None:
    (entry,) = find(["relu"], None, ())
    chip = find_gpu_chip("m2")
    source = "\n".join(["// tune: TG = 256, 64", "// defaults: m2 TG = 64", SOURCE])
    kernel = parse(source, name="relu", path=Path("relu.metal"), chip=None)
    found = tune_by_prediction(
        kernel.on(device_names(chip.target)),
        entry.task,
        "small",
        chip,
        dtype_name="float32",
        seconds=0,
    )
    assert found.defaults.values == {"TG": 64}


@pytest.mark.parametrize("given", [("--json", "-"), ("--on", "ssh://mac.local")])
def test_tune_by_prediction_refuses_options_of_a_measurement(given: tuple[str, str]) -> None:
    said = CliRunner().invoke(main, ["tune", "argmax", "--objective", "predicted:m2", *given])
    assert said.exit_code == 2
    assert f"{given[0]}: expected none" in said.output


def test_tune_by_prediction_needs_tunables() -> None:
    (entry,) = find(["relu"], None, ())
    kernel = replace(entry.kernel(), tunables={})
    chip = find_gpu_chip("m2")
    with pytest.raises(DeclarationError, match="tune:"):
        tune_by_prediction(kernel, entry.task, "small", chip, dtype_name="float32", seconds=1)


def test_tune_refuses_an_unknown_objective() -> None:
    said = CliRunner().invoke(main, ["tune", "argmax", "--objective", "predict:m2"])
    assert said.exit_code == 2
    assert "predicted:CHIP" in said.output
