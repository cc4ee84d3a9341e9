"""References are built at the smallest size, and once."""

from __future__ import annotations

import mlx.core as mx

from metalbench.reference.chain import build_forms
from metalbench.task import normal, output, task

SEEN: list[int] = []


@task(
    sizes=dict(small=dict(n=8), seed=dict(n=128)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: x * 2 + 1,
    flops="n",
)
def doubled(x):
    SEEN.append(x.size)
    return x * 2 + 1


def test_the_compiled_form_runs_at_the_smallest_size() -> None:
    build_forms(doubled, "float32", kind="cpu")
    assert SEEN == [8]


def test_build_forms_builds_nothing_without_a_gpu() -> None:
    SEEN.clear()
    build_forms(doubled, "float32", kind="cuda")
    assert ([8] if mx.is_available(mx.gpu) else []) == SEEN
