"""Every task of the library: its declaration, its inputs, and oracle against MLX."""

from __future__ import annotations

from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from metalbench import reference
from metalbench.kernel.library import Library
from metalbench.reference.evaluate import to_mlx, to_numpy
from metalbench.task.dtypes import dtype
from metalbench.task.workload import workload
from metalbench.verify import small_sizes

ENTRIES = list(Library())
SMALL = [(each, size) for each in ENTRIES for size in ("small", "odd1", "odd2")]
SEED_SHAPES = {
    "relu": [(16, 16384), (16, 16384)],
    "gelu": [(16, 16384), (16, 16384)],
    "softmax": [(1024, 1024), (1024, 1024)],
    "layer_norm": [(1024, 1024), (1024, 1024)],
    "rms_norm": [(1024, 1024), (1024, 1024)],
    "cumsum": [(1024, 1024), (1024, 1024)],
    "argmax": [(1024, 1024), (1024,)],
    "top_k": [(1024, 1024), (1024, 16)],
    "transpose_2d": [(1024, 2048), (2048, 1024)],
    "matvec": [(1024, 1024), (1024,), (1024,)],
    "sqr_mm": [(1024, 1024), (1024, 1024), (1024, 1024)],
    "batch_mm": [(128, 128, 256), (128, 256, 512), (128, 128, 512)],
    "conv2d": [(8, 64, 64, 64), (128, 3, 3, 64), (8, 62, 62, 128)],
    "max_pool2d": [(8, 64, 64, 64), (8, 32, 32, 64)],
    "mse_loss": [(1024, 1024), (1024, 1024), (1,)],
    "rope_embedding": [(128, 64), (128, 64)],
    "scaled_dot_product": [(128, 128), (128, 128), (128, 128), (128, 128)],
    "cross_entropy_loss": [(1024, 1024), (1024,), (1024,)],
    "add_norm": [(1024, 1024), (1024, 1024), (1024, 1024)],
    "transformer_block": [(64, 128), (128, 384), (128, 128), (128, 256), (256, 128), (64, 128)],
}


def name_of(value):
    return value if isinstance(value, str) else value.name


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_declaration(entry):
    task = entry.task
    # One row of a language model's activations or logits is one more size where it is usual.
    sizes = [each for each in task.sizes if each not in ("decode", "vocabulary")]
    assert sizes[:6] == ["small", "odd1", "odd2", "seed", "large", "huge"]
    assert sizes[6:] in ([], ["cpu"])
    # MLX takes seconds for the seed of most convolutions on a processor.
    assert task.headline == ("cpu" if "cpu" in task.sizes else "seed")
    assert small_sizes(task) == ["small", "odd1", "odd2"]
    assert task.description == entry.description
    assert task.dtypes[0] == "float32"
    values = task.values("seed")
    arrays = [*task.inputs.values(), *task.outputs.values()]
    if task.name in SEED_SHAPES:
        assert [each.shape_at(values) for each in arrays] == SEED_SHAPES[task.name]
    assert task.bytes("small", "float32") < 1e6


# The peak of an M4's ten cores in float32: 128 lanes each, 2 operations, 1.6 GHz. An M1 has two
# thirds of it, the largest chips about seven times as much.
FLOPS_OF_AN_M4 = 4e12


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_on_a_small_gpu_the_headline_is_much_more_than_a_launch(entry):
    """At least 16 MB, as its inputs and outputs are declared, or 1 ms of arithmetic at the peak."""
    task = entry.task
    size = task.gpu_headlines[0]
    assert size == "large"
    seconds = task.flops(size) / FLOPS_OF_AN_M4
    assert task.bytes(size, "float32") >= 16e6 or seconds >= 1e-3
    # Nor so much that every run, which verifies this size too, takes for ever.
    assert task.bytes(size, "float32") <= 256e6
    assert seconds <= 5e-3


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("entry", "size"), SMALL, ids=name_of)
def test_oracle_and_reference_agree(entry, size, seed):
    """Within what single precision loses in a sum of all inputs, one after the other."""
    work = workload(entry.task, size, seed=seed)
    mlx = reference.outputs(work)
    for name, expected in work.expected.items():
        if entry.task.outputs[name].dtype is not None:
            np.testing.assert_array_equal(mlx[name], expected)
            continue
        assert np.isfinite(expected).all()
        terms = sum(each.size for each in work.inputs.values())
        roundoffs = max(256, 2 * np.sqrt(terms))
        allowed = roundoffs * dtype("float32").roundoff * np.abs(work.scale[name]).max()
        np.testing.assert_allclose(mlx[name], expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_inputs_depend_on_their_name_and_the_seed(entry):
    first, again, other = (workload(entry.task, "odd1", seed=seed).inputs for seed in (0, 0, 1))
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name])
        assert not np.array_equal(array, other[name])
        assert not array.flags.writeable
    arrays = [each.reshape(-1)[:9].tolist() for each in first.values() if each.size > 8]
    assert all(arrays.count(each) == 1 for each in arrays)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("task", ["relu", "softmax", "sqr_mm"])
def test_half_precision(task, name):
    entry = Library().entry(task)
    work = workload(entry.task, "odd1", dtype_name=name)
    assert {each.dtype.name for each in work.inputs.values()} == {name}
    mlx = reference.outputs(work)
    for output, expected in work.expected.items():
        assert mlx[output].dtype == np.float32
        np.testing.assert_allclose(mlx[output], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_arrays_survive_the_way_to_mlx_and_back(name):
    array = np.array([[1.5, -2.25, np.inf], [0, -0.0, 3e-5]]).astype(dtype(name).numpy)
    back = to_numpy(to_mlx(array))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back.view(np.uint8), array.view(np.uint8))


def test_repetitions_of_the_reference_are_all_computed():
    """Each takes the one before as a dependency; MLX drops none of them."""
    calls = []
    task = Library().entry("relu").task

    def counted(x):
        calls.append(x)
        return mx.maximum(x, 0)

    timed = reference.Reference(workload(replace(task, reference=counted), "small"))
    timed(1)
    calls.clear()
    timed(70)
    assert len(calls) == 70
    assert len({id(each) for each in calls}) > 35
    assert timed.name == task.baseline


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_every_reference_can_be_chained(entry):
    reference.Reference(workload(entry.task, "small"))(3)
