"""The tool that writes the kernels of KernelBench's networks for images."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from short_form import is_in_sample
from tool_module import load_tool

from metalbench.expression import parse as parse_expression
from metalbench.kernel.header import parse

tool = load_tool("network_kernels")
NAMES = [each.name for each, _ in tool.problems()]
SAMPLED = [
    pytest.param(each, marks=() if is_in_sample(f"network-{each}", 4) else pytest.mark.slow)
    for each in NAMES
]


def test_every_network_for_images_has_a_kernel() -> None:
    assert len(NAMES) == len(tool.NUMBERS)
    assert NAMES[0] == "kb3_001_mlp"
    assert NAMES[-1] == "kb3_027_regnet"
    assert all((tool.FOLDER / f"{name}.metal").exists() for name in NAMES)


@pytest.mark.parametrize("name", SAMPLED)
def test_the_kernel_of_a_network_is_current(name: str) -> None:
    ((problem, task),) = tool.problems([name])
    text = tool.write_kernel(problem, task)
    assert (tool.FOLDER / f"{name}.metal").read_text() == text, (
        f"run python tools/network_kernels.py {name}"
    )


def extents() -> tuple[Any, Any]:
    return tool.Extent.from_name("n", 7), tool.Extent.from_name("m", 5)


@pytest.mark.parametrize(
    ("make", "value", "text"),
    [
        (lambda n, m: n + m + n, 19, "2 * n + m"),
        (lambda n, m: 3 * n * m - n, 98, "3 * m * n - n"),
        (lambda n, _: (2 * n) // 2, 7, "n"),
        (lambda n, _: (n - 1) // 2 + 1, 4, "((n - 1) / 2) + 1"),
        (lambda n, _: (n << 2) + 0, 28, "4 * n"),
        (lambda n, _: n - n, 0, "0"),
        (lambda n, m: 5 - (n - m) * 1, 3, "5 + m - n"),
    ],
)
def test_extents_know_their_expression(make: Any, value: int, text: str) -> None:
    found = make(*extents())
    assert int(found) == value
    assert sorted(str(found).split()) == sorted(text.split())
    # The expression has this value in a header.
    line = f"// let: k = {found}\n// dispatch: f threads_in_grid=(n) threads=(1)\n"
    assert parse(line, name="f").add_named_sizes({"n": 7, "m": 5})["k"] == value


@pytest.mark.parametrize(
    ("large", "small", "is_covered"),
    [
        (lambda n, m: 4 * n * m, lambda n, m: 3 * n * m, True),
        (lambda n, m: 4 * n * m, lambda n, _: 4 * n, True),
        (lambda n, _: 4 * n, lambda n, m: 3 * n * m, False),
        (lambda n, m: 4 * n + m, lambda n, m: 3 * n + 2 * m, False),
        (lambda n, m: 4 * n + 2 * m, lambda n, m: 4 * n + m, True),
        # n is made of side by windows, m of n.
        (
            lambda n, _: 2 * tool.Extent.from_name("side", 9) * n,
            lambda _, m: m * tool.Extent.from_name("m", 5),
            True,
        ),
        (lambda _, m: 2 * m, lambda n, _: n + 0, False),
    ],
)
def test_covers_compares_sizes_whatever_the_extents_are(
    large: Any, small: Any, is_covered: bool
) -> None:
    larger = {"n": "side", "m": "n"}
    one, other = (make(*extents()).terms for make in (large, small))
    assert tool.covers(one, other, larger) is is_covered


def test_arrays_that_are_needed_together_have_different_memory() -> None:
    """No slot has a second array before the last dispatch that reads the first one."""
    ((problem, _),) = tool.problems(["kb3_009_resnet18"])
    recorder, launches = tool.trace(problem, "paper")
    spans: dict[Any, list[int]] = {}
    for number, launch in enumerate(launches):
        for each in launch.bindings.values():
            if isinstance(each, tool.Memory) and not each.name:
                spans.setdefault(each, [number, number])[1] = number
    slots = tool.share_memory(launches, recorder.larger)
    assert len(slots) < len(spans) / 4
    for slot in slots:
        own = sorted(span for each, span in spans.items() if each.name == slot.name)
        assert all(last < first for (_, last), (first, _) in pairwise(own))
        assert slot.elements >= max(each.size for each in spans if each.name == slot.name)


@pytest.mark.parametrize("name", SAMPLED)
def test_scratch_memory_holds_each_of_its_arrays_at_every_size(name: str) -> None:
    """Arrays of equal sizes at the problem's original extents differ at others."""
    ((problem, task),) = tool.problems([name])
    recorder, launches = tool.trace(problem, tool.LARGEST)
    memories = {
        each
        for launch in launches
        for each in launch.bindings.values()
        if isinstance(each, tool.Memory) and not each.name
    }
    tool.share_memory(launches, recorder.larger)
    kernel = parse((tool.FOLDER / f"{name}.metal").read_text(), name=name)
    shapes = {each.name: each.shape for each in kernel.scratches}
    assert {each.name for each in memories} == shapes.keys()
    for size in task.sizes:
        values = kernel.add_named_sizes({**task.values(size), **kernel.resolve_tunables()})
        for each in memories:
            (shape,) = shapes[each.name]
            needed = parse_expression(str(each.size)).evaluate(values)
            assert shape.evaluate(values) >= needed, (size, each.name, each.size)


@pytest.mark.parametrize(
    "step",
    [
        lambda nn, x: nn.clamp(x, 0, 5),
        lambda nn, x: nn.concat([x, x], 1),
        lambda nn, x: nn.relu(nn.relu(x)),
        lambda nn, x: nn.avg_pool(x, (3, 3), (1, 1), (1, 1)),
        lambda nn, x: nn.mean(x, (1,)),
        lambda nn, x: nn.instance_norm(x),
        lambda nn, x: nn.conv(x, "c", 4, (3, 1)),
    ],
)
def test_a_step_that_dispatches_do_not_have_is_refused(step: Any) -> None:
    recorder = tool.Recorder()
    x = tool.Step("input", tuple(map(tool.Extent.of, (2, 6, 6, 4))), (), {"name": "x"})
    nn = tool.Layers(recorder, {}, make=recorder.make)
    with pytest.raises((NotImplementedError, ValueError)):
        tool.Planner(step(nn, x)).plan()
