"""Drafts of a task and its kernel, right and wrong, as a model would write them."""

from __future__ import annotations

import json

from steel.model_server import Step, says

NAME = "twice_and_one"
TASK = '''\
"""2 x + 1, elementwise."""

import itertools

import mlx.core as mx

from metalbench.task import normal, output, task


def exact(x):
    """In float64."""
    return 2 * x + 1


@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=1023), seed=dict(n=1 << 14)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=exact,
    flops="2 * n",
    baseline="2 * x + 1",
)
def twice_and_one(x):
    return 2 * x + 1
'''
KERNEL = """\
// 2 x + 1: one thread an element.
// dispatch: twice_and_one  threads_in_grid=(n)  threads=(TG)
// tune: TG = 256, 64
#include <metal_stdlib>
using namespace metal;

[[kernel]] void twice_and_one(device const float* x, device float* y,
                              uint i [[thread_position_in_grid]]) {
  y[i] = fma(2, x[i], 1);
}
"""
WRONG_KERNEL = KERNEL.replace("fma(2, x[i], 1)", "2 * x[i]")
WRONG_ORACLE = TASK.replace("    return 2 * x + 1\n\n\n@task", "    return 3 * x + 1\n\n\n@task")
BLIND = TASK.replace("return 2 * x + 1", "return 0 * x + 1")
BLIND_KERNEL = KERNEL.replace("fma(2, x[i], 1)", "1")
ENDLESS = TASK.replace("def exact(x)", "for _ in itertools.count():\n    pass\n\n\ndef exact(x)")
POLISHED_TASK = TASK.replace("2 x + 1, elementwise.", "Twice every element, and one.")
POLISHED_KERNEL = KERNEL.replace("one thread an element", "one thread for each element")


def draft(task: str = TASK, kernel: str = KERNEL, name: str = NAME) -> Step:
    """A model's answer with these files."""
    reply = {"name": name, "summary": "Twice and one.", "task": task, "kernel": kernel}
    return says(json.dumps(reply))


GOOD = draft()
POLISHED = draft(POLISHED_TASK, POLISHED_KERNEL)
