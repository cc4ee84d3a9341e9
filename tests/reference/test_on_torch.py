"""PyTorch's forms of the library's tasks, and what is timed of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metalbench.errors import DeclarationError
from metalbench.kernel.library import Library
from metalbench.reference import Reference
from metalbench.reference.torch_form import add_torch_form
from metalbench.run.reference_forms import _find_fault
from metalbench.task.workload import workload

pytest.importorskip("torch")

LIBRARY = Library()
NAMES = [name for name in LIBRARY.names() if LIBRARY.entry(name).task.torch is not None]


def reference_of(name: str, dtype: str, size: str = "odd1") -> Reference:
    return Reference(workload(add_torch_form(LIBRARY.entry(name).task), size, dtype_name=dtype))


def test_most_of_the_library_has_one() -> None:
    assert len(NAMES) >= 100


@pytest.mark.parametrize("name", NAMES)
def test_the_torch_form_agrees_with_the_reference(name: str) -> None:
    reference = reference_of(name, "float32")
    eager, *_, torch = reference.forms
    assert torch.kind == "apart"
    assert torch.name.startswith("torch ")
    assert not _find_fault(reference, torch, reference.outputs_of(eager))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_its_results_are_of_the_runs_types(name: str) -> None:
    # In half types some are rounded on the way; a run then leaves them out.
    for dtype in LIBRARY.entry(name).task.dtypes[1:]:
        reference = reference_of(name, dtype)
        eager, *_, torch = reference.forms
        try:
            found = reference.outputs_of(torch)
        except NotImplementedError:  # PyTorch's CPU has not everything in half types
            continue
        kinds = [(each.shape, each.dtype) for each in reference.outputs_of(eager)]
        assert [(each.shape, each.dtype) for each in found] == kinds


def test_copies_of_inputs_take_turns() -> None:
    seen: list[float] = []

    def form(torch, x):
        seen.append(float(x[0, 0]))
        return torch.relu(x)

    task = add_torch_form(replace(LIBRARY.entry("relu").task, torch=form))
    works = [workload(task, "small", dtype_name="float32", seed=seed) for seed in (1, 2)]
    reference = Reference(works[0], copies=2)
    reference.load(*works)
    reference.form = reference.forms[-1]
    seen.clear()
    reference(3)
    first, second = (float(np.ravel(each.inputs["x"])[0]) for each in works)
    assert seen == [first, second, first]


def test_the_torch_form_is_compared_on_request_only() -> None:
    task = LIBRARY.entry("softmax").task
    assert task.apart is None
    assert "apart" not in task.against
    assert add_torch_form(task).against == ("eager", "compiled", "apart")


def test_a_task_without_a_torch_form_is_unchanged() -> None:
    task = replace(LIBRARY.entry("softmax").task, torch=None)
    assert add_torch_form(task) is task


def test_its_arguments_are_the_module_and_the_tasks() -> None:
    from metalbench.task import normal, output, task

    declare = task(
        sizes=dict(seed=dict(n=4)),
        inputs=dict(x=normal("n")),
        outputs=dict(y=output("n")),
        oracle=lambda x: x,
        flops="n",
        torch=lambda x: x,
    )

    def same(x):
        return x

    with pytest.raises(DeclarationError, match=r"torch: expected the arguments \(torch, x\)"):
        declare(same)
