"""The forms of a reference, in a process that has made other things of MLX."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext

import mlx.core as mx
import pytest

from metalbench import patched_mlx
from metalbench.reference import list_forms
from metalbench.task import normal, output, task

CALLS: Counter[str] = Counter()


@task(
    sizes=dict(small=dict(n=64), seed=dict(n=128)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
)
def doubled(x):
    CALLS["doubled"] += 1
    return x + x


def runs_of_five_calls(function) -> int:
    CALLS.clear()
    for number in range(5):
        assert function(x=mx.array([number])).tolist() == [2 * number]
    return CALLS["doubled"]


@pytest.mark.parametrize("scope", [nullcontext, patched_mlx])
def test_the_compiled_form_is_compiled(scope):
    eager, compiled = list_forms(doubled)
    with scope():
        assert runs_of_five_calls(eager.function) == 5
        assert runs_of_five_calls(compiled.function) < 5
