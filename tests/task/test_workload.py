from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metalbench import _core, reference
from metalbench.errors import DeclarationError, TaskError
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds, compile_kernel
from metalbench.task import (
    derive,
    distinct,
    heavy_tailed,
    integers,
    normal,
    output,
    positive,
    scaled,
    shifted,
    task,
    tied,
    uniform,
)
from metalbench.task import workload as workloads
from metalbench.task.inputs import STANDARD, with_special
from metalbench.task.workload import workload
from metalbench.verify import VerifyPlan, verify


@task(
    sizes=dict(seed=dict(n=20000)),
    inputs=dict(
        plain=normal("n"),
        shifted=normal("n", mean=100, deviation=3),
        twice=tied("n"),
        even=uniform("n", low=-2, high=6),
        above=positive("n"),
        index=integers("n", low=5, high="n / 1000"),
    ),
    outputs=dict(total=output("n"), rest=output("n", dtype="uint32")),
    oracle=lambda plain, shifted, twice, even, above, index: (plain + shifted, index),
    flops="n",
)
def many(plain, shifted, twice, even, above, index):
    return plain + shifted, index


def relu():
    return Library().entry("relu").task


def test_distributions():
    inputs = workload(many, "seed").inputs
    assert inputs["plain"].mean() == pytest.approx(0, abs=0.03)
    assert inputs["plain"].std() == pytest.approx(1, abs=0.03)
    assert inputs["shifted"].mean() == pytest.approx(100, abs=0.1)
    assert inputs["shifted"].std() == pytest.approx(3, abs=0.1)
    np.testing.assert_array_equal(inputs["twice"][:10000], inputs["twice"][10000:])
    assert (inputs["even"].min(), inputs["even"].max()) == pytest.approx((-2, 6), abs=0.01)
    assert inputs["above"].min() > 0
    assert set(np.unique(inputs["index"])) == set(range(5, 20))
    assert {name: each.dtype.name for name, each in inputs.items()} == {
        **dict.fromkeys(inputs, "float32"),
        "index": "uint32",
    }


def test_several_outputs():
    work = workload(many, "seed")
    np.testing.assert_array_equal(work.expected["rest"], work.inputs["index"])
    assert work.expected["total"].dtype == np.float64
    assert reference.outputs(work)["total"].dtype == np.float32


def test_inputs_stay_the_same_from_one_version_to_the_next():
    """Stored results would otherwise compare different numbers."""
    first = workload(relu(), "small").inputs["x"][0, :3]
    np.testing.assert_array_equal(
        first, np.array([-1.1025164127349854, -0.35087084770202637, 0.7448344826698303], np.float32)
    )


def test_seeds_take_turns_with_variations():
    varied = replace(relu(), inputs=dict(x=normal("rows", "cols").only(shifted(100), scaled(8))))
    works = [workload(varied, "small", seed=seed) for seed in range(6)]
    names = ["", "x shifted by 100", "x scaled by 8"]
    assert [each.variation for each in works] == names * 2
    means = [float(each.inputs["x"].mean()) for each in works]
    assert means == pytest.approx([0, 100, 0, 0, 100, 0], abs=0.5)
    deviations = [float(each.inputs["x"].std()) for each in works]
    assert deviations == pytest.approx([1, 1, 8, 1, 1, 8], rel=0.1)


def test_heavy_tails():
    x = heavy_tailed().change(np.array([-2, 0.5], np.float32), np.random.default_rng(0))
    np.testing.assert_array_equal(x, [-8, 0.125])


def test_argmax_meets_ties():
    x = workload(Library().entry("argmax").task, "odd1").inputs["x"]
    assert ((x == x.max(axis=1, keepdims=True)).sum(axis=1) > 1).mean() > 0.9


def test_values_beyond_float16_are_infinite():
    big = replace(relu(), oracle=lambda x: x * 1e5)
    expected = workload(big, "small", dtype_name="float16").expected["y"]
    assert np.isinf(expected).any()
    assert np.isfinite(expected).any()
    assert np.isfinite(workload(big, "small").expected["y"]).all()


@pytest.mark.parametrize(("scale", "far"), [(7e4, True), (5.7e5, True), (5.8e5, False)])
def test_values_near_the_range_of_float16_stay_finite(scale, far):
    """70 000 is 4480 beyond float16's range, 16 roundoffs of a scale of 573 440."""
    exact = 70_000.0
    one = replace(relu(), oracle=lambda x: x * 0 + exact, scale=lambda x: x * 0 + scale)
    expected = workload(one, "small", dtype_name="float16").expected["y"]
    assert (expected == (np.inf if far else exact)).all()


def test_values_beyond_float32_are_infinite():
    big = replace(relu(), oracle=lambda x: x * 1e39)
    for name in ("float32", "bfloat16"):
        expected = workload(big, "small", dtype_name=name).expected["y"]
        assert np.isinf(expected).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(oracle=lambda x: 1 / 0), r"\[relu\] oracle at size small: .* ZeroDivisionError"),
        (dict(oracle=lambda x: x[0]), r"oracle: y at size small: expected \(16, 256\), got \(256"),
        (dict(oracle=lambda x: (x, x)), "oracle: expected 1 outputs, got 2"),
        (dict(scale=lambda x: x[0]), "scale: y at size small: expected"),
        (dict(reference=lambda x: x[0]), "reference: y at size small: expected"),
        (dict(reference=lambda x: x.nonesuch()), "reference at size small: AttributeError"),
    ],
)
def test_an_error_of_a_task_is_not_a_kernel_failure(change, message):
    entry = Library().entry("relu")
    with pytest.raises(TaskError, match=message):
        verify(
            Builds(_core.open("cpu"), entry.kernel(), replace(entry.task, **change)),
            VerifyPlan(sizes=["small"]),
        )


def test_unknown_names():
    with pytest.raises(
        DeclarationError, match=r"\[relu\] unknown size 'smal'; did you mean 'small'"
    ):
        workload(relu(), "smal")
    with pytest.raises(DeclarationError, match=r"dtype: expected one of .*, got 'float64'"):
        workload(relu(), "small", dtype_name="float64")


def test_flops_and_bytes():
    assert relu().flops("small") == 16 * 256
    assert relu().bytes("small", "float32") == 2 * 4 * 16 * 256
    assert relu().bytes("small", "float16") == 2 * 2 * 16 * 256
    assert many.bytes("seed", "float16") == 20000 * (5 * 2 + 4 + 2 + 4)


def test_candidate_and_reference_are_sampled_together():
    entry, device = Library().entry("relu"), _core.open("cpu")
    work = workload(entry.task, "small")
    bound = compile_kernel(device, entry.kernel(), entry.task).bind(work)
    samples = device.sample(
        bound.dispatches,
        reference.Reference(work, kind=device.kind),
        max_pairs=16,
        warmup_ns=1_000_000,
        window_ns=100_000,
    )
    assert samples.reference_ns.shape == samples.candidate_ns.shape
    assert (samples.reference_ns > 0).all()


@pytest.mark.parametrize("change", STANDARD, ids=lambda each: each.name)
def test_standard_variations(change):
    drawn = np.random.default_rng(0).normal(2, 3, 100_000).astype(np.float32)
    values = change.change(drawn, np.random.default_rng(1))
    assert values.dtype == np.float32
    assert values.shape == drawn.shape
    assert not np.array_equal(values, drawn)
    if change.name == "spread evenly":
        assert (values.mean(), values.std()) == pytest.approx((2, 3), abs=0.05)
        assert np.ptp(values) == pytest.approx(2 * np.sqrt(3) * 3, rel=0.01)
    if change.name == "rounded to few values":
        assert 10 < np.unique(values).size < 30
    if change.name == "nine in ten zero":
        assert (values == 0).mean() == pytest.approx(0.9, abs=0.01)


def test_special_values_are_rare_but_present():
    plain = np.zeros(100_000, np.float32)
    values = with_special(np.inf, np.nan).change(plain, np.random.default_rng(0))
    assert np.isinf(values).mean() == pytest.approx(0.005, abs=0.001)
    assert np.isnan(values).mean() == pytest.approx(0.005, abs=0.001)


def test_the_oracle_runs_once_for_the_same_inputs():
    asked = []

    def oracle(x):
        asked.append(x)
        return np.maximum(x, 0)

    watched = replace(relu(), oracle=oracle)
    for seed in (0, 1, 0, 1):
        workload(watched, "small", seed=seed).expected  # noqa: B018
    assert len(asked) == 2
    workload(replace(watched), "small").expected  # noqa: B018
    assert len(asked) == 3


def test_the_cache_of_workloads_is_bounded(monkeypatch):
    monkeypatch.setattr(workloads, "KEPT_BYTES", 100_000)
    for seed in range(20):
        assert workload(relu(), "small", seed=seed).expected
    held = sum(each.nbytes for each in workloads._recent.values())
    assert held <= 100_000
    monkeypatch.undo()
    task = relu()
    for seed in range(2 * workloads.MOST_KEPT):
        last = workload(task, "small", seed=seed)
    assert len(workloads._recent) == workloads.MOST_KEPT
    assert workload(task, "small", seed=seed) is last


def test_keep_workloads_sets_the_bytes_of_the_cache(monkeypatch):
    monkeypatch.setattr(workloads, "KEPT_BYTES", workloads.KEPT_BYTES)
    task = relu()
    most = workload(task, "small").nbytes
    workloads.keep_workloads(4 * most)
    first = workload(task, "small")
    assert [workload(task, "small", seed=each) for each in range(1, 4)]
    assert workload(task, "small") is first
    workloads.keep_workloads(most)
    assert workload(task, "small", seed=4)
    assert workload(task, "small") is not first


def test_mixed_inputs_keep_most_of_their_elements():
    task = Library().entry("matvec").task
    work, other = (workload(task, "odd1", seed=seed) for seed in (0, task.turn))
    mixed = work.mix_with(other)
    for name, values in mixed.inputs.items():
        mine = work.inputs[name]
        assert (values == mine).mean() == pytest.approx(7 / 8, abs=0.05)
        np.testing.assert_array_equal(
            values.reshape(-1)[[0, 15, -1]], mine.reshape(-1)[[0, 15, -1]]
        )
    assert not np.array_equal(mixed.expected["y"], work.expected["y"])
    one = np.ones(1, np.float32)
    assert replace(work, inputs={"x": one}).mix_with(replace(work, inputs={"x": 2 * one})).inputs[
        "x"
    ] == [2]


def test_tied_inputs_have_no_ties_at_the_second_seed():
    @task(
        sizes=dict(seed=dict(rows=4, cols=101)),
        inputs=dict(x=tied("rows", "cols")),
        outputs=dict(y=output("rows", dtype="uint32")),
        oracle=lambda x: np.argmax(x, axis=-1),
        flops="rows * cols",
    )
    def largest(x):
        return x

    plain, untied = (workload(largest, "seed", seed=seed).inputs["x"] for seed in (0, 1))
    np.testing.assert_array_equal(plain[:, :50], plain[:, 51:])
    assert len(np.unique(untied)) > 0.9 * untied.size
    assert (untied.argmax(axis=-1) >= 51).any()


def test_different_scalars_are_not_mixed() -> None:
    @task(
        sizes=dict(seed=dict(n=400)),
        inputs=dict(place=distinct("n / 2", 2, below="2 * n"), x=normal("n")),
        outputs=dict(y=output("n")),
        oracle=lambda place, x: x,
        flops="n",
    )
    def kept(place, x):
        return x

    mine, other = (workload(kept, "seed", seed=seed) for seed in (0, 1))
    place = mine.inputs["place"]
    assert place.shape == (200, 2)
    assert len(np.unique(place)) == 400
    assert place.max() < 800
    assert not (place == np.sort(place, axis=None).reshape(place.shape)).all()
    assert not (place == other.inputs["place"]).all()
    mixed = mine.mix_with(other)
    assert (mixed.inputs["place"] == place).all()
    assert not (mixed.inputs["x"] == mine.inputs["x"]).all()


def test_derived_inputs_come_from_stored_inputs() -> None:
    @task(
        sizes=dict(seed=dict(n=400)),
        inputs=dict(
            x=normal("n"), place=distinct("n", below="n"), root=derive("n", by=lambda x: x * x)
        ),
        outputs=dict(y=output("n")),
        oracle=lambda x, place, root: root,
        dtypes=("float16",),
        flops="n",
    )
    def squared(x, place, root):
        return root

    mine, other = (workload(squared, "seed", dtype_name="float16", seed=seed) for seed in (0, 1))
    stored = mine.inputs["x"].astype(np.float64)
    assert stored.dtype != mine.inputs["root"].dtype == np.float16
    np.testing.assert_array_equal(mine.inputs["root"], (stored * stored).astype(np.float16))
    assert not (other.inputs["root"] == mine.inputs["root"]).all()
    assert (mine.mix_with(other).inputs["root"] == mine.inputs["root"]).all()


def test_derived_inputs_need_inputs_that_are_declared_before() -> None:
    with pytest.raises(DeclarationError, match="root is derived from 'x'; expected inputs that"):

        @task(
            sizes=dict(seed=dict(n=400)),
            inputs=dict(root=derive("n", by=lambda x: x * x), x=normal("n")),
            outputs=dict(y=output("n")),
            oracle=lambda root, x: root,
            flops="n",
        )
        def squared(root, x):
            return root
