"""Large arrays are drawn in blocks, and come out the same however many are drawn at a time."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench.task import inputs
from metalbench.task.inputs import coarse, normal, positive, uniform

BLOCK = 1000
SHAPE = (37, 101)


def generator() -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(7)))


@pytest.mark.parametrize(
    "declared", [normal("a", "b", mean=3), uniform("a", "b", high=4), positive("a", "b")]
)
def test_drawn_values_do_not_depend_on_the_number_of_cores(declared, monkeypatch):
    monkeypatch.setattr(inputs, "BLOCK", BLOCK)
    drawn = []
    for cores in (1, 5):
        monkeypatch.setattr(inputs, "usable_cores", lambda cores=cores: cores)
        values = declared.draw_array(generator(), dict(zip("ab", SHAPE, strict=True)), 0)
        drawn.append(values)
    assert values.shape == SHAPE
    assert values.dtype == np.float32
    assert np.array_equal(*drawn)
    blocks = [values.reshape(-1)[start : start + BLOCK] for start in (0, BLOCK)]
    assert not np.array_equal(*blocks)


@pytest.mark.parametrize("draw", [inputs.draw_standard_normal, inputs.draw_uniform])
def test_blocks_have_the_distribution_of_a_whole(draw, monkeypatch):
    whole = draw(generator(), (200_000,))
    monkeypatch.setattr(inputs, "BLOCK", BLOCK)
    parts = draw(generator(), (200_000,))
    levels = np.linspace(0.01, 0.99, 9)
    assert np.quantile(parts, levels) == pytest.approx(np.quantile(whole, levels), abs=0.02)
    again = draw(generator(), (200_000,))
    assert np.array_equal(parts, again)


def test_draws_of_one_generator_differ(monkeypatch):
    monkeypatch.setattr(inputs, "BLOCK", BLOCK)
    random = generator()
    first, second = (inputs.draw_uniform(random, SHAPE) for _ in range(2))
    assert not np.array_equal(first, second)


def test_large_arrays_of_few_values_have_few_values(monkeypatch):
    monkeypatch.setattr(inputs, "BLOCK", BLOCK)
    values = inputs.draw_standard_normal(generator(), SHAPE)
    before = values.copy()
    rounded = coarse().change(values, generator())
    assert np.array_equal(values, before)
    assert len(np.unique(rounded)) < 30
    assert np.abs(rounded - values).max() <= values.std()
