"""The reference of kernels that update in place: MLX donates the input to the result."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from in_place import placed

from metalbench.reference.chain import ON_ONE_ELEMENT, Reference
from metalbench.task.workload import workload


@pytest.mark.parametrize("form", [0, 1])
def test_repetitions_copy_nothing(form):
    work = workload(placed, "large")
    reference = Reference(work, in_place=True)
    reference.form = reference.forms[form]
    reference(2)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    reference(20)
    assert mx.get_peak_memory() - before < work.inputs["cache"].nbytes / 2


def test_repetitions_of_a_function_copy():
    work = workload(placed, "large")
    reference = Reference(work)
    reference(2)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    reference(2)
    assert mx.get_peak_memory() - before >= work.inputs["cache"].nbytes


def test_updated_inputs_have_the_results():
    one, other = (workload(placed, "small", seed=seed) for seed in (1, 2))
    reference = Reference(one, copies=2, in_place=True)
    reference.load(one, other)
    reference(1)
    reference(5)
    for copy, work in zip(reference._inputs, (one, other), strict=True):
        assert np.array_equal(np.array(copy["cache"]), work.expected["y"].astype(np.float32))
    (got,) = reference.outputs_of(reference.forms[0])
    assert np.array_equal(got, one.expected["y"].astype(np.float32))


def test_the_least_work_of_mlx_leaves_the_inputs_alone():
    work = workload(placed, "small")
    reference = Reference(work, in_place=True)
    reference(1)
    reference.form = ON_ONE_ELEMENT
    reference(3)
    assert reference._inputs[0]["cache"].shape == work.inputs["cache"].shape
