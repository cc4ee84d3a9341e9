"""Predictions of kernels of the library, their records, and comparisons."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import metalbench
from metalbench import _core
from metalbench.cli.reporting import find_kernel_of_chip
from metalbench.errors import DeclarationError
from metalbench.kernel.library import find
from metalbench.profiling.gpu_calibration import CALIBRATION, COUNTED_CALIBRATION
from metalbench.profiling.prediction import (
    Prediction,
    compare_predictions,
    find_gpu_chip,
    predict_kernel,
    predict_profile,
    probability_faster,
)
from metalbench.profiling.profiler import resolve_subject
from metalbench.run.trial import Trial


@pytest.fixture(scope="module")
def softmax() -> Prediction:
    (entry,) = find(["softmax"], None, ())
    return predict_kernel(entry.kernel(), entry.task, "small", find_gpu_chip("m2"))


def test_predict_kernel_has_parts_and_lines(softmax: Prediction) -> None:
    assert softmax.low_s < softmax.seconds < softmax.high_s
    assert sum(softmax.parts.values()) == pytest.approx(softmax.seconds)
    (dispatch,) = softmax.dispatches
    assert dispatch.limit in dispatch.parts
    assert sum(dispatch.lines.values()) == pytest.approx(1)
    assert any(file.endswith("softmax.h") for file, _ in softmax.lines)
    for line, seconds in softmax.lines.items():
        assert sum(softmax.find_causes(line).values()) == pytest.approx(seconds)
    causes = {cause for line in softmax.lines for cause in softmax.find_causes(line)}
    # Arithmetic, exponentials and loads of device memory.
    assert causes >= {"issue", "complex", "L2"}
    assert causes <= {"issue", "complex", "L2", "data path", "threadgroup memory"}
    assert softmax.find_causes(("nowhere.metal", 1)) == {}


def test_predict_profile_is_of_counts() -> None:
    profile = metalbench.profile("softmax", size="small")
    found = predict_profile(profile, find_gpu_chip("m2"))
    assert found.calibration is COUNTED_CALIBRATION
    assert 0 < found.low_s < found.seconds < found.high_s
    assert found.dispatches[0].work.slots > 0


def test_record_says_that_it_is_a_prediction(softmax: Prediction) -> None:
    record = softmax.record()
    assert record["kind"] == "prediction"
    assert record["low_s"] < record["seconds"] < record["high_s"]
    assert record["dispatches"][0]["work"]["barriers"] == softmax.dispatches[0].work.barriers


def test_predict_kernel_is_faster_with_more_cores() -> None:
    (entry,) = find(["sqr_mm"], None, ())
    small, large = (
        predict_kernel(entry.kernel(), entry.task, "small", find_gpu_chip(chip)).seconds
        for chip in ("m2", "m2_max")
    )
    assert large < small


@pytest.mark.parametrize("ratio", [0.2, 0.9, 1.0, 1.5, 6.0])
def test_probability_faster_is_symmetric_and_grows(softmax: Prediction, ratio: float) -> None:
    other = replace(softmax, seconds=softmax.seconds * ratio)
    faster, slower = probability_faster(softmax, other), probability_faster(other, softmax)
    assert faster + slower == pytest.approx(1)
    assert (faster > 0.5) == (ratio > 1) or ratio == 1


def test_compare_predictions_may_not_tell(softmax: Prediction) -> None:
    spread = CALIBRATION.pair_spread
    near, far = (
        replace(softmax, seconds=softmax.seconds * math.exp(factor * spread)) for factor in (0.1, 3)
    )
    assert compare_predictions(softmax, near).startswith("cannot tell")
    assert compare_predictions(softmax, far).startswith("predicted faster")
    assert compare_predictions(far, softmax).startswith("predicted slower")


@pytest.fixture
def variants(tmp_path: Path) -> Path:
    """A folder with a kernel for all chips and another one for the M2 family."""
    (entry,) = find(["argmax"], None, ())
    for name in ("argmax.metal", "argmax.m2.metal"):
        (tmp_path / name).write_text(entry.kernel().path.read_text())
    return tmp_path


VARIANTS = pytest.mark.parametrize(
    ("chip", "name"), [("m2_pro", "argmax.m2.metal"), ("m4", "argmax.metal")]
)


@VARIANTS
def test_resolve_subject_takes_the_kernel_of_the_chip(variants: Path, chip: str, name: str) -> None:
    target = find_gpu_chip(chip).target
    kernel, _, _ = resolve_subject("argmax", None, None, [variants], target)
    assert kernel.path.name == name
    assert kernel.target[0] == chip


@VARIANTS
def test_find_kernel_takes_the_kernel_of_the_chip(variants: Path, chip: str, name: str) -> None:
    (entry,) = find(["argmax"], None, [variants])
    device = _core.open("cpu")
    trial = Trial(entry, entry.kernel(device), "float32")
    kernel = find_kernel_of_chip(trial, device, find_gpu_chip(chip))
    assert kernel.path.name == name
    assert kernel.target[0] == chip


def test_find_gpu_chip_raises_for_an_unknown_chip() -> None:
    with pytest.raises(DeclarationError, match="m99"):
        find_gpu_chip("m99")
