"""Inputs that become parameters of a candidate's modules, by their names."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import pytest
from mlx import nn

from metalbench import _core
from metalbench.kernelbench.candidates.kernels import find_entry


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Linear(2, 2)
        self.conv_1 = nn.Linear(2, 2)
        self.batch_norm = nn.BatchNorm(2)


class Model(nn.Module):
    """Modules by attribute, in a Sequential, in lists, in a dictionary, and all of these nested."""

    def __init__(self) -> None:
        super().__init__()
        inner = nn.Sequential(nn.Linear(2, 2), Block())
        self.net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), inner)
        self.blocks = [Block(), [Block()]]
        self.heads = {"left": nn.Linear(2, 2), "up_right": Block()}
        self.own_weight = mx.zeros((2,))

    def forward(self, x: mx.array) -> mx.array:
        return x


@pytest.mark.parametrize(
    ("name", "find"),
    [
        ("own_weight", lambda model: model.own_weight),
        ("net_0_weight", lambda model: model.net.layers[0].weight),
        ("net_0_bias", lambda model: model.net.layers[0].bias),
        ("net_2_0_weight", lambda model: model.net.layers[2].layers[0].weight),
        ("net_2_1_conv_bias", lambda model: model.net.layers[2].layers[1].conv.bias),
        # `conv` alone leads nowhere: `conv_1` is another module.
        ("net_2_1_conv_1_bias", lambda model: model.net.layers[2].layers[1].conv_1.bias),
        ("blocks_0_conv_weight", lambda model: model.blocks[0].conv.weight),
        ("blocks_1_0_conv_1_weight", lambda model: model.blocks[1][0].conv_1.weight),
        ("blocks_0_batch_norm_running_mean", lambda m: m.blocks[0].batch_norm.running_mean),
        ("heads_left_weight", lambda model: model.heads["left"].weight),
        ("heads_up_right_conv_weight", lambda model: model.heads["up_right"].conv.weight),
    ],
)
def test_inputs_are_bound_to_parameters_of_nested_modules(name: str, find: Any) -> None:
    made = []

    class ModelNew(Model):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    entry = find_entry({"ModelNew": ModelNew}, "task", ["x", name], {})
    value = mx.array([[1.0, 2.0], [3.0, 4.0]])
    entry({"x": value, name: value})
    assert find(made[0]) is value


@pytest.mark.parametrize("name", ["net_3_weight", "net_weight_0", "conv_weight", "heads_1_weight"])
def test_an_input_that_no_path_leads_to_is_an_error(name: str) -> None:
    entry = find_entry({"ModelNew": Model}, "task", ["x", name], {})
    with pytest.raises(_core.DispatchError, match=f"{name}: the module has no such parameter"):
        entry({"x": mx.zeros((2,)), name: mx.zeros((2,))})
