"""KernelBench's problems: as they were published, the reference right, no trivial answer accepted.

`facts.tsv` has what PyTorch says of every problem: shapes (channels first), multiplications and
additions of products of matrices and convolutions (2 each), elements of all other steps, and bytes
of its state. Level 3 is not compared by its other steps: PyTorch's fused layers count as one.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from metalbench import reference
from metalbench.kernel.library import SUITES, Entry, Library, find
from metalbench.kernelbench.problems.declaration import PROBLEMS
from metalbench.task.declaration import draw_size
from metalbench.task.workload import workload
from metalbench.verify import small_sizes
from metalbench.verify.admission import BadResult, TaskCheck, admit

Shape = tuple[int, ...]
# Of level 4, whose modules are not in PyTorch, `test_language_models.py` has the tests.
ENTRIES = [each for each in find((), "kernelbench") if each.set != SUITES[3]]
SIZES = [(entry, size) for entry in ENTRIES for size in ("small", "odd")]
# Steps that only copy, which MLX does without, and their number of elements.
COPIES = {
    "2.20": 16 * 64 * 32 * 64 * 64,
    "2.40": 16384 * 4096,
    "2.51": 2048 * 8192,
}
# What PyTorch's modules hold and do not use, in bytes: a bias; masks of attention and tables of
# positions, which are not parameters; layers whose result is dropped.
UNUSED = {
    "2.26": 4 * 64,
    "3.30": 4 * 2401 * (64 + 16 + 3 * 4) + 12 * (4 * 338 + 8 * 2401),
    "3.36": 4 * (256 * 10 + 10),
    "3.37": 4 * (256 * 10 + 10),
    "3.43": 4 * 1024 * 1024,
    "3.44": 4 * 1024 * 1024,
    "3.49": 4 * 2048 * 128 * 8 * 16,
    "3.50": 4 * 1024 * 1024 + 4 * (768 * 768 + 768),
}
# Parameters that are here alone, without which the problem would always be 0.
ADDED = {"2.80": 4, "2.83": 4}
# Products whose results the original drops: a linear layer of ten rows; Mamba's outputs.
DROPPED = {
    "3.36": 2 * 10 * 256 * 10,
    "3.37": 2 * 10 * 256 * 10,
    "3.49": 2048 * 8 * 2 * (2 * 64 * 64 * 16 + 2 * 64 * 64 * 64),
}

every_problem = pytest.mark.parametrize("entry", ENTRIES, ids=lambda each: each.name)


def facts() -> dict[str, list[str]]:
    text = (Path(__file__).parent / "facts.tsv").read_text()
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {row[0]: row[1:] for row in rows}


FACTS = facts()


def number_of(entry: Entry) -> str:
    found = re.match(r"kb(\d)_(\d+)_", entry.name)
    assert found
    return f"{found[1]}.{int(found[2])}"


def shapes(text: str) -> list[Shape]:
    """The arrays of "[2,3];[4]int64;3.14"; a scalar is an array of one element."""
    found = re.findall(r"\[([\d,]*)\]", text)
    return [tuple(map(int, each.split(","))) if each else (1,) for each in found]


def channels_last(shape: Shape) -> Shape:
    return (shape[0], *shape[2:], shape[1]) if len(shape) > 2 else shape


def test_all_problems_exist() -> None:
    assert [number_of(each) for each in ENTRIES] == list(FACTS)
    assert [each.set for each in ENTRIES] == [
        suite for suite, count in zip(SUITES[:3], (100, 100, 50), strict=True) for _ in range(count)
    ]


# Published extents whose results rounding decides; `paper` has others.
PUBLISHED = {
    "kb3_024_efficientnet_b2": {"batch": 2},
    "kb3_045_unet_softmax": {"batch": 8, "width": 512},
}


@every_problem
def test_the_problem_agrees_with_the_published_figures(entry: Entry) -> None:
    task, number = entry.task, number_of(entry)
    inputs, output, products, elements, state = FACTS[number]
    problem = PROBLEMS[task.name]
    own = {**problem.sizes["paper"], **PUBLISHED.get(task.name, {})}
    trace = problem.trace(own)
    got = [each.shape_at(own) for each in problem.inputs.values()]
    for shape in shapes(inputs):
        assert shape in got or channels_last(shape) in got
    assert trace.outputs[0] in (shapes(output)[0], channels_last(shapes(output)[0]))
    assert trace.costs.products == int(products) - DROPPED.get(number, 0)
    if number[0] != "3":
        assert f"{trace.costs.elements + COPIES.get(number, 0):.3e}" == f"{float(elements):.3e}"
    learned = sum(4 * math.prod(shape) for shape, _ in trace.parameters.values())
    held = learned + 4 * trace.costs.statistics + UNUSED.get(number, 0) - ADDED.get(number, 0)
    assert held == int(state)


@every_problem
def test_the_problem_is_declared_like_any_task(entry: Entry) -> None:
    task = entry.task
    assert list(task.sizes) == ["small", "odd", "cpu", "paper"]
    assert (task.headline, task.gpu_headlines) == ("cpu", ("paper",))
    assert small_sizes(task) == ["small", "odd"]
    assert task.description == entry.description
    assert task.description.endswith((".", "..."))
    for seed in range(3):
        task.check_size(draw_size(task, seed))
    own, cut = PROBLEMS[task.name].sizes["paper"], task.sizes["paper"]
    changed = [name for name in own if own[name] != cut[name]]
    assert len(changed) <= 1
    if changed:
        assert task.bytes("paper", "float32") <= 2 << 30


@pytest.mark.parametrize(("entry", "size"), SIZES, ids=lambda each: getattr(each, "name", each))
def test_the_reference_is_right(entry: Entry, size: str) -> None:
    """The reference follows the rule for kernels, on the problem's own inputs and on all others."""
    task = entry.task
    for seed in range(task.turn):
        work = workload(task, size, seed=seed)
        check = TaskCheck(work)
        for name, got in reference.outputs(work).items():
            assert check.factor(BadResult("MLX", name, got)) <= 1, (name, seed)


@every_problem
def test_no_trivial_answer_is_accepted(entry: Entry) -> None:
    trials = admit(entry.task, sizes=small_sizes(entry.task))
    assert {each.size for each in trials} == {"small", "odd"}
    assert {"zeros", "another seed's output"} <= {each.candidate for each in trials}
    assert [each for each in trials if not each.rejected] == []


def test_parameters_are_initialised_as_by_pytorch() -> None:
    """A convolution of 4 channels and 3 x 3 taps is initialised evenly within 1/6."""
    work = workload(Library().entry("kb2_001_conv2d_relu_bias_add").task, "small")
    assert list(work.inputs) == ["x", "conv_weight", "conv_bias", "bias"]
    weights = work.inputs["conv_weight"]
    assert weights.shape == (8, 3, 3, 4)
    assert 0.16 < np.abs(weights).max() <= 1 / 6
    assert np.abs(weights).mean() == pytest.approx(1 / 12, rel=0.15)
    assert 0 <= work.inputs["x"].min() < 0.01
    assert 0.99 < work.inputs["x"].max() < 1


@pytest.mark.parametrize(("size", "inner"), [("small", 64), ("cpu", 512)])
def test_a_layer_begins_by_its_own_width_at_every_size(size: str, inner: int) -> None:
    task = Library().entry("kb2_040_matmul_scaling_residual_add").task
    weights, wide = (workload(task, size, seed=seed).inputs["matmul_weight"] for seed in (0, 1))
    assert weights.shape[1] == inner
    assert 0.99 < np.abs(weights).max() * math.sqrt(inner) <= 1
    assert wide.std() * math.sqrt(inner) == pytest.approx(math.sqrt(2), rel=0.05)


def test_a_problem_with_zero_results_has_others_for_other_inputs() -> None:
    for name in ("kb2_080_gemm_max_subtract_gelu", "kb2_009_matmul_subtract_multiply_relu"):
        own, other = (workload(Library().entry(name).task, "small", seed=seed) for seed in (0, 1))
        assert not own.expected["y"].any()
        assert other.expected["y"].any()


def test_inputs_that_a_problem_excludes_are_not_compared() -> None:
    from dataclasses import replace

    from metalbench.errors import TaskError

    work = workload(Library().entry("kb1_013_matmul_for_symmetric_matrices").task, "small")
    askew = replace(work, inputs={**work.inputs, "a": np.triu(work.inputs["a"])})
    with pytest.raises(TaskError, match="expected symmetric matrices"):
        assert askew.expected


def test_suites_are_listed_only_on_request() -> None:
    library = Library()
    assert not [each for each in library if each.set in SUITES]
    assert not [name for name in library.names() if name.startswith("kb")]
    assert len(library.names("kernelbench/level1")) == 100
    assert len(library.names("kernelbench")) == len(ENTRIES) + 20
    assert library.entry("kb1_019_relu").set == "kernelbench/level1"


def test_parameters_of_later_seeds_are_wider():
    entry = next(each for each in ENTRIES if number_of(each) == "1.90")
    first, later = (workload(entry.task, "small", seed=seed).inputs["x"] for seed in (0, 1))
    assert 0 <= first.min() < first.max() < 1
    assert later.max() > 1
