"""Batch normalisation, and its gradient against numerical derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo

PROGRAM = """
func.func @main(%x: tensor<4x3x5xT>, %s: tensor<3xT>, %o: tensor<3xT>, %g: tensor<4x3x5xT>)
    -> (tensor<4x3x5xT>, tensor<3xT>, tensor<3xT>, tensor<4x3x5xT>, tensor<3xT>, tensor<3xT>) {
  %y, %m, %v = "stablehlo.batch_norm_training"(%x, %s, %o)
    {epsilon = 0.01 : f32, feature_index = 1 : i64}
    : (tensor<4x3x5xT>, tensor<3xT>, tensor<3xT>) -> (tensor<4x3x5xT>, tensor<3xT>, tensor<3xT>)
  %a, %b, %c = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g)
    {epsilon = 0.01 : f32, feature_index = 1 : i64}
    : (tensor<4x3x5xT>, tensor<3xT>, tensor<3xT>, tensor<3xT>, tensor<4x3x5xT>)
    -> (tensor<4x3x5xT>, tensor<3xT>, tensor<3xT>)
  return %y, %m, %v, %a, %b, %c : tensor<4x3x5xT>, tensor<3xT>, tensor<3xT>, tensor<4x3x5xT>,
    tensor<3xT>, tensor<3xT>
}"""


def normalize(x, scale, offset):
    mean, variance = x.mean((0, 2)), x.var((0, 2))
    centred = (x - mean[:, None]) / np.sqrt(variance + 0.01)[:, None]
    return centred * scale[:, None] + offset[:, None], mean, variance


def derivatives(arguments, output):
    """Return central differences of the sum of normalised values, weighted by `output`."""
    found = []
    for number, array in enumerate(arguments):
        slope = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [each.copy() for each in arguments]
                moved[number][place] += step
                ends.append((normalize(*moved)[0] * output).sum())
            slope[place] = (ends[0] - ends[1]) / 2e-5
        found.append(slope)
    return found


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize(("kind", "tolerance"), [("f32", 2e-5), ("f16", 2e-2)])
def test_batch_norm_computes_statistics_and_gradients_of_the_batch(level, kind, tolerance):
    random = np.random.default_rng(12)
    type_ = np.float32 if kind == "f32" else np.float16
    # Far from zero, where the mean of the squares minus the square of the mean cancels.
    centres = np.array([1.0, -3.0, 9.0])[:, None]
    x = (random.normal(size=(4, 3, 5)) + centres).astype(type_)
    scale, offset = (random.random((2, 3)) + 0.5).astype(type_)
    output = random.normal(size=(4, 3, 5)).astype(type_)
    found = hlo.compile(PROGRAM.replace("xT>", f"x{kind}>"), level=level, device="cpu")(
        x, scale, offset, output
    )
    exact = [each.astype(np.float64) for each in (x, scale, offset)]
    expected = [*normalize(*exact), *derivatives(exact, output.astype(np.float64))]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            got.astype(np.float64), wanted, rtol=tolerance, atol=5 * tolerance
        )
