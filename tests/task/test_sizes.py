"""Sizes that are spelled out or drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metalbench.errors import DeclarationError
from metalbench.kernel.library import Library
from metalbench.task import normal, output, task
from metalbench.task.declaration import draw_size, spell_size

LIBRARY = Library()
MANY = range(200)


@pytest.fixture
def relu():
    return LIBRARY.entry("relu").task


def test_draw_size_is_between_the_smallest_and_the_headline(relu):
    found = [relu.extents(draw_size(relu, seed)) for seed in MANY]
    rows = [each["rows"] for each in found]
    cols = [each["cols"] for each in found]
    assert (min(rows), max(rows)) == (5, 16)
    assert 256 <= min(cols) < 300
    assert 12000 < max(cols) <= 16384
    assert len({tuple(each.values()) for each in found}) > 150


def test_draw_size_is_not_larger_than_the_measured_size(relu):
    found = [relu.extents(draw_size(relu, seed, upto="small")) for seed in MANY]
    assert (min(each["rows"] for each in found), max(each["rows"] for each in found)) == (5, 16)
    assert {each["cols"] for each in found} == {256}


def test_the_same_seed_draws_the_same_size(relu):
    assert draw_size(relu, 7) == draw_size(relu, 7) != draw_size(relu, 8)


@pytest.mark.parametrize("entry", list(LIBRARY), ids=lambda each: each.name)
def test_every_task_can_draw(entry):
    for seed in MANY:
        size = draw_size(entry.task, seed)
        entry.task.check_size(size)
        assert spell_size(entry.task.extents(size)) == size


def test_draw_size_keeps_multiples(relu):
    even = replace(relu, multiples=dict(cols=64))
    assert all(even.extents(draw_size(even, seed))["cols"] % 64 == 0 for seed in MANY)
    with pytest.raises(DeclarationError, match="expected a multiple of 64 for cols, got 65"):
        even.values("rows=3,cols=65")


def test_a_task_may_define_its_drawn_sizes(relu):
    def draw(random: np.random.Generator) -> dict[str, int]:
        n = int(random.integers(1, 9))
        return dict(rows=n, cols=n * n)

    square = replace(relu, draw=draw)
    for seed in MANY:
        extents = square.extents(draw_size(square, seed))
        assert extents["cols"] == extents["rows"] ** 2
    with pytest.raises(DeclarationError, match=r"expected the names rows, cols.*say `multiples="):
        draw_size(replace(relu, draw=lambda random: dict(n=3)), 0)


def test_a_spelled_size_is_a_size(relu):
    assert relu.values("rows=3,cols=70") == dict(rows=3, cols=70)
    assert relu.bytes("rows=3,cols=70", "float32") == 2 * 4 * 210
    with pytest.raises(DeclarationError, match="expected the names rows, cols, got rows"):
        relu.values("rows=3")
    with pytest.raises(DeclarationError, match="expected every extent to be 1 or more"):
        relu.check_size("rows=0,cols=3")


def declared(**options):
    @task(
        sizes=dict(seed=dict(n=8), large=dict(n=64)),
        inputs=dict(x=normal("n")),
        outputs=dict(y=output("n")),
        oracle=lambda x: x,
        flops="n",
        **options,
    )
    def same(x):
        return x

    return same


@pytest.mark.parametrize(
    ("options", "cpu", "gpus"),
    [
        ({}, "seed", ("seed",)),
        (dict(headline="large"), "large", ("large",)),
        (dict(gpu_headlines=("large",)), "seed", ("large",)),
        (dict(headline="large", gpu_headlines=["seed", "large"]), "large", ("seed", "large")),
    ],
)
def test_a_gpu_may_have_other_headlines_than_a_processor(options, cpu, gpus):
    same = declared(**options)
    assert (same.headline, same.gpu_headlines) == (cpu, gpus)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(headline="larg"), "headline: no size 'larg'; did you mean"),
        (dict(gpu_headlines=("seed", "larg")), "gpu_headlines: no size 'larg'; did you mean"),
        (
            dict(gpu_headlines="large"),
            r"gpu_headlines: expected .*\('large',\), got 'large'",
        ),
        (
            dict(gpu_headlines=("large", "seed")),
            "gpu_headlines: expected ascending sizes, got 'seed', .* more work than 'large'",
        ),
        (dict(gpu_headlines=("large", "large")), "gpu_headlines: expected ascending sizes"),
    ],
)
def test_headlines_are_declared_sizes_in_ascending_order(options, message):
    with pytest.raises(DeclarationError, match=rf"\[same\] {message}"):
        declared(**options)


def test_multiples_of_an_unknown_extent_are_refused():
    with pytest.raises(DeclarationError, match="multiples: no size 'm'"):

        @task(
            sizes=dict(seed=dict(n=8)),
            inputs=dict(x=normal("n")),
            outputs=dict(y=output("n")),
            oracle=lambda x: x,
            flops="n",
            multiples=dict(m=2),
        )
        def same(x):
            return x
