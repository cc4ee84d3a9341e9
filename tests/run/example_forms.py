"""A task with a reference of several forms, and what their times are taken to be."""

from __future__ import annotations

from metalbench.task import Task, normal, output, task

COST = {"eager": 3.0, "compiled": 2.0, "fast": 1.0}
LAUNCH = "one element"


def declared(fast=None, against=("eager", "compiled")) -> Task:
    @task(
        sizes=dict(seed=dict(n=2048)),
        inputs=dict(x=normal("n")),
        outputs=dict(y=output("n")),
        constants=dict(times=3.0),
        oracle=lambda x, times: times * x,
        flops="n",
        baseline="times * x",
        fast=fast,
        against=against,
    )
    def scaled(x, times):
        return times * x

    return scaled


def sum_of_three(x, times):
    return x + x + x
