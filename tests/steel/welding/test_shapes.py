"""Sizes of a task from one example: extents that can change, expressions of outputs and work."""

from __future__ import annotations

import math

import mlx.core as mx
import pytest

from agent_steel.welding.shapes import Probe, TaskShapes, find_shapes
from metalbench.errors import DeclarationError
from metalbench.expression import parse
from metalbench.kernelbench.pytorch.inputs import CPU
from metalbench.reference.mlx_function import trace


class Traced:
    """A function of MLX as a program of any shapes."""

    def __init__(self, function):
        self.function = function

    def probe(self, shapes):
        graph = trace(self.function, [mx.zeros(each) for each in shapes])
        outputs = tuple((graph.shapes[each], graph.types[each]) for each in graph.outputs)
        return Probe(outputs, graph.flops())


def shapes_of(function, *examples) -> TaskShapes:
    return find_shapes(Traced(function), examples)


def attention(q, k, v):
    return mx.softmax(q @ k.swapaxes(1, 2), axis=-1) @ v


CASES = {
    "elementwise": (mx.exp, [(16, 128)], [("n16", "n128")], [("n16", "n128")]),
    "broadcast": (
        lambda x, w: x * w,
        [(64, 64), (64,)],
        [("n64", "n64_2"), ("n64_2",)],
        [("n64", "n64_2")],
    ),
    "product": (
        lambda x, w: x @ w,
        [(16, 32), (32, 16)],
        [("n16", "n32"), ("n32", "n16_2")],
        [("n16", "n16_2")],
    ),
    "concatenation": (
        lambda x: mx.concatenate([x, x[1:]], axis=0),
        [(64, 7)],
        [("n64", "n7")],
        [("2 * n64 - 1", "n7")],
    ),
    "fixed heads": (
        lambda x: x.reshape(x.shape[0], 4, 8).sum(axis=2),
        [(64, 32)],
        [("n64", 32)],
        [("n64", 4)],
    ),
    "groups": (
        lambda x: x.reshape(x.shape[0], -1, 8).sum(axis=2),
        [(64, 32)],
        [("n64", "n32")],
        [("n64", "n32 / 8")],
    ),
    "folded": (
        lambda x: x.reshape(-1, 2, 4).sum(axis=2),
        [(16, 32)],
        [("n16", "n32")],
        [("n16 * n32 / 8", 2)],
    ),
    "every second": (
        lambda x: x[:, ::2],
        [(16, 32)],
        [("n16", "n32")],
        [("n16", "ceil_div(n32, 2)")],
    ),
    "windows": (
        lambda x: mx.conv1d(x[None, :, None], mx.ones((1, 4, 1)), stride=3)[0, :, 0],
        [(64,)],
        [("n64",)],
        [("ceil_div(n64, 3) - 1",)],
    ),
    "diagonal": (mx.diagonal, [(16, 32)], [("n16", "n32")], [("min(n16, n32)",)]),
    "several": (
        lambda x: (x.sum(axis=0), x.sum(axis=1)),
        [(16, 32)],
        [("n16", "n32")],
        [("n32",), ("n16",)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_find_shapes_names_the_extents_that_can_change(name: str) -> None:
    function, examples, arguments, outputs = CASES[name]
    found = shapes_of(function, *examples)
    assert list(found.arguments) == arguments
    assert [dims for dims, _ in found.outputs] == outputs


@pytest.mark.parametrize("name", CASES)
def test_every_size_is_one_that_the_program_takes(name: str) -> None:
    function, examples, *_ = CASES[name]
    found = shapes_of(function, *examples)
    assert {"small", "odd1", "seed"} <= set(found.sizes)
    for values in found.sizes.values():
        shapes = [tuple(values.get(each, each) for each in dims) for dims in found.arguments]
        probe = Traced(function).probe(shapes)
        for (shape, _), (dims, _) in zip(probe.outputs, found.outputs, strict=True):
            assert shape == tuple(parse(each).evaluate(values) for each in dims)
        if found.flops is not None:
            assert probe.flops == parse(found.flops).evaluate(values)


def test_small_sizes_have_different_extents() -> None:
    found = shapes_of(attention, (4, 64, 32), (4, 64, 32), (4, 64, 32))
    assert set(found.sizes["seed"]) == {"n4", "n64", "n64_2", "n32", "n32_2"}
    for size in ("small", "odd1", "odd2"):
        values = list(found.sizes[size].values())
        assert len(set(values)) == len(values)
    assert found.flops is not None
    assert "2 * n4 * n64 * n64_2 * n32" in found.flops


def test_the_seed_is_the_example_if_that_is_not_too_large() -> None:
    assert shapes_of(mx.exp, (16, 128)).sizes["seed"] == {"n16": 16, "n128": 128}
    found = shapes_of(mx.exp, (4096, 8192))
    assert 2 * math.prod(found.sizes["seed"].values()) <= CPU[1]
    assert found.sizes["large"] != found.sizes["seed"]


def test_random_sizes_obey_multiples() -> None:
    found = shapes_of(lambda x: x.reshape(x.shape[0], -1, 8).sum(axis=2), (64, 32))
    assert found.multiples == {"n32": 8}
    assert found.draws == ()


def test_random_sizes_without_a_rule_are_small_ones() -> None:
    found = shapes_of(lambda x: x.reshape(-1, 8, 16).sum(axis=0), (32, 128))
    assert set(found.draws) <= {"small", "odd1", "odd2"}
    assert found.draws


def test_a_program_of_one_shape_has_one_size() -> None:
    found = shapes_of(lambda x: x.reshape(64, 8) * 2, (512,))
    assert found.arguments == ((512,),)
    assert found.sizes == {name: {"only": 1} for name in ("small", "odd1", "seed")}


def test_the_error_of_the_example_is_raised() -> None:
    with pytest.raises(DeclarationError, match="matmul"):
        shapes_of(lambda x, w: x @ w, (4, 8), (4, 8))
