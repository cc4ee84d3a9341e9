"""Kernels that update an input in place: header lines, declarations and buffers."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from in_place import COPYING, RIGHT, placed
from rich.console import Console

from metalbench import _core
from metalbench.errors import DeclarationError
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import compile_kernel
from metalbench.report.kernel import task_section
from metalbench.task import normal, output, task
from metalbench.task.workload import workload


def compiled(source: str, of=placed):
    return compile_kernel(_core.open("cpu"), parse(source, name=of.name), of)


def test_inout_lines_are_read():
    text = "// dispatch: f threads_in_grid=(n) threads=(32)\n"
    kernel = parse("// inout: cache, scales\n// inout: biases\n" + text, name="f")
    assert kernel.inouts == {"cache": 1, "scales": 1, "biases": 2}
    assert not parse(f"// Input: x\n{text}", name="f").inouts, "prose"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("// inout: cache, cache", "1:18: expected an input that the header does not have yet"),
        ("// inout: 3", "expected the name of an input"),
        ("// inuot: cache", "did you mean 'inout'?"),
    ],
)
def test_wrong_inout_lines_are_refused(line, said):
    with pytest.raises(DeclarationError) as refused:
        parse(f"{line}\n// dispatch: f threads_in_grid=(n) threads=(32)\n", name="f")
    assert said.partition(":")[2] in str(refused.value)


def test_an_updated_input_and_its_output_are_one_buffer():
    work = workload(placed, "small", seed=1)
    bound = compiled(RIGHT).bind(work)
    assert bound.outputs["y"] is bound.inputs["cache"]
    assert not bound.own_outputs
    _core.open("cpu").run(bound.dispatches)
    assert np.array_equal(bound.read("y"), work.expected["y"].astype(np.float32))


def test_poison_restores_an_updated_input():
    work = workload(placed, "small", seed=1)
    bound = compiled(RIGHT).bind(work)
    _core.open("cpu").run(bound.dispatches)
    assert not bound.inputs["cache"].holds(work.inputs["cache"])
    bound.poison()
    assert bound.inputs["cache"].holds(work.inputs["cache"])
    assert not bound.unwritten("y").any()


def test_a_kernel_of_the_same_task_may_copy():
    bound = compiled(COPYING).bind(workload(placed, "small", seed=1))
    assert bound.outputs["y"] is not bound.inputs["cache"]


def test_a_task_must_allow_the_update():
    with pytest.raises(DeclarationError, match=r"placed.metal:2: 'cache' cannot be updated"):
        compiled(RIGHT, replace(placed, inout={}))


def test_a_kernel_updates_all_arrays_of_the_task_or_none():
    several = replace(placed, inout={"cache": "y", "fresh": "z"})
    with pytest.raises(DeclarationError, match="got no fresh; update all of them"):
        compiled(RIGHT, several)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("device float* cache", "device const float* cache", "expected an argument that can be"),
        ("device float* cache", "device float* cache, device float* y", "y: kernel place takes it"),
        ("uint i [[thread", "constant uint& cash, uint i [[thread", "cash: kernel place takes it"),
    ],
)
def test_wrong_arguments_are_refused(before, after, said):
    source = RIGHT.replace(before, after)
    if "const float* cache" in after:
        source = source.replace("cache[position[i]] = fresh[i]", "(void)cache")
    with pytest.raises(DeclarationError, match=said):
        compiled(source)


def test_show_names_the_inputs_that_may_be_updated():
    console = Console(file=StringIO(), width=200)
    console.print(task_section(Library().entry("kv_append")))
    assert "normal(0, 1); may become y in place" in console.file.getvalue()


def test_bytes_of_an_update_in_place_are_declared_for_themselves():
    assert placed.bytes("small", "float32") == 4 * (100 + 30 + 30 + 100)
    assert placed.bytes("small", "float32", in_place=True) == 12 * 30


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (dict(inout=dict(z="y")), "inout: no input 'z'"),
        (dict(inout=dict(x="z")), "inout: no output 'z'"),
        (dict(inout=dict(x="half")), "expected the shape and type of x for half"),
        (dict(inout=dict(x="bits")), "expected the shape and type of x for bits"),
        (dict(inout=dict(x="y", w="y")), "expected a different output for each input"),
        (dict(inout=dict(x="y"), inout_bytes=None), "inout_bytes: expected the traffic"),
        (dict(inout=None), "inout_bytes: expected the traffic"),
    ],
)
def test_wrong_declarations_of_a_task_are_refused(changes, said):
    def same(x, w):
        return x, x[:1], x

    given = dict(inout=dict(x="y"), inout_bytes="8 * n") | changes
    declare = task(
        sizes=dict(seed=dict(n=8)),
        inputs=dict(x=normal("n"), w=normal("n")),
        outputs=dict(y=output("n"), half=output("n / 2"), bits=output("n", dtype="uint32")),
        oracle=same,
        flops="0",
        **given,
    )
    with pytest.raises(DeclarationError, match=said):
        declare(same)
