"""Repetitions of the reference: all run, in order, in little memory, with values left alone."""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace

import mlx.core as mx
import numpy as np
import pytest

from metalbench.reference import chain, evaluate
from metalbench.reference.chain import Reference, order_after, plain_ends, read_ends
from metalbench.run.reference_forms import choose_form
from metalbench.task import normal, output, task
from metalbench.task.workload import workload

RUNS: Counter[str] = Counter()
MIB = 1 << 20


@task(
    sizes=dict(small=dict(n=64), seed=dict(n=128), middle=dict(n=MIB // 16), large=dict(n=MIB)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
)
def doubled(x):
    RUNS["doubled"] += 1
    return x + x


@task(
    sizes=dict(seed=dict(n=MIB)),
    inputs=dict(x=normal("n"), y=normal("n")),
    outputs=dict(least=output(1), most=output(1)),
    oracle=lambda x, y: ((x * y).min().reshape(1), (x * y).max().reshape(1)),
    flops="n",
)
def extremes(x, y):
    """Its results are small, what it needs on the way is not."""
    products = x * y
    return mx.min(products).reshape(1), mx.max(products).reshape(1)


def beside_a_gpu(work) -> Reference:
    """Create a reference as for a GPU, but on MLX's CPU."""
    reference = Reference(work)
    reference._ends = read_ends
    return reference


EVERYWHERE = pytest.mark.parametrize("make", [Reference, beside_a_gpu])


@pytest.mark.parametrize("ends", [plain_ends, read_ends])
@pytest.mark.parametrize("several", [False, True])
def test_order_after_changes_no_value(ends, several):
    x = mx.array(np.random.default_rng(0).standard_normal((37, 41)).astype(np.float32))
    inputs = dict(x=x, index=mx.arange(7), half=x.astype(mx.bfloat16))
    y = mx.exp(x)
    ordered = order_after(inputs, ends((y, mx.argmax(x)) if several else y, None))
    assert list(ordered) == list(inputs)
    for name, array in ordered.items():
        assert array.dtype == inputs[name].dtype
        assert mx.array_equal(array, inputs[name])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.5, True, 2**31])
def test_no_result_can_change_an_input(value):
    results = mx.array([value, value])
    kept = order_after({"x": mx.arange(5, dtype=mx.uint32)}, read_ends(results, None))["x"]
    assert kept.dtype == mx.uint32
    np.testing.assert_array_equal(np.array(kept), np.arange(5))


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.uint8, mx.int64, mx.bool_])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_read_ends_reads_one_element_of_any_result(shape, dtype):
    first = read_ends(mx.ones(shape, dtype), None)
    (end,) = read_ends(mx.ones(shape, dtype), first)
    assert (end.dtype, end.size) == (dtype, 1)


def operations_of(*arrays: mx.array) -> Counter[str]:
    """Return the count of each operation in the graph that is not yet computed."""
    text = io.StringIO()
    mx.export_to_dot(text, *arrays)
    return Counter(re.findall(r'label ="(\w+)"', text.getvalue()))


def test_a_gpu_chain_reads_all_results_without_copies():
    x, y = mx.array([1.0] * 6), mx.array([2.0] * 8)
    first = read_ends((mx.exp(x), mx.sin(y)), None)
    second = read_ends((mx.exp(y), mx.sin(x)), first)
    found = operations_of(*order_after({"x": x, "y": y}, second).values())
    # Slices and dependencies need no kernels.
    assert found == {"Exp": 2, "Sin": 2, "Slice": 4, "Maximum": 4, "Depends": 1}


@EVERYWHERE
def test_every_repetition_depends_on_the_one_before(make, monkeypatch):
    ends, made = [], []
    reference = make(workload(doubled, "small"))
    reference(1)
    ends_of, form = reference._ends, reference.form.function

    def recorded(results, before):
        assert before is (ends[-1][1] if ends else None)
        ends.append((results, ends_of(results, before)))
        return ends[-1][1]

    def watched(**inputs):
        made.append((inputs, form(**inputs)))
        return made[-1][1]

    ordered = []
    monkeypatch.setattr(
        chain, "order_after", lambda *given: ordered.append(given) or order_after(*given)
    )
    reference._ends = recorded
    object.__setattr__(reference.form, "function", watched)
    reference(5)
    assert [id(results) for results, _ in ends] == [id(results) for _, results in made[:-1]]
    assert [id(given[1]) for given in ordered] == [id(found) for _, found in ends]
    assert all(inputs["x"] is not reference._inputs[0]["x"] for inputs, _ in made[1:])


@pytest.fixture
def calls(monkeypatch):
    """Record the calls of the reference to MLX, in order."""
    found = []
    for name in ("async_eval", "eval", "synchronize", "clear_cache"):
        original = getattr(mx, name)

        def recorded(*arguments, name=name, original=original):
            found.append(name)
            return original(*arguments)

        monkeypatch.setattr(chain.mx, name, recorded)
    return found


@EVERYWHERE
def test_every_repetition_runs_to_completion(make, calls):
    reference = make(workload(doubled, "small"))
    assert calls == ["clear_cache", "eval"]
    reference(1)
    RUNS.clear()
    calls.clear()
    reference(20)
    assert RUNS["doubled"] == 20
    # A graph of 16 and the rest, one wait, and no command buffer that does nothing but wait.
    assert calls == ["async_eval", "eval"]
    calls.clear()
    reference(3 * chain.MOST_IN_GRAPH)
    assert calls == ["async_eval", *["async_eval", "eval"] * 2, "eval"]


@EVERYWHERE
def test_the_first_repetition_measures_its_memory(make):
    reference = make(workload(doubled, "small"))
    RUNS.clear()
    reference(1)
    assert RUNS["doubled"] == 1
    reference(2)
    assert RUNS["doubled"] == 3


@EVERYWHERE
def test_large_results_overlap_with_the_next_repetition(make, calls):
    reference = make(workload(doubled, "large"))
    reference(1)
    calls.clear()
    reference(4)
    assert calls == ["async_eval", *["async_eval", "eval"] * 3, "eval"]


def most_memory(reference: Reference) -> int:
    """Bytes that repetitions take at their peak."""
    reference(8)
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    reference(64)
    assert mx.get_active_memory() == before
    return mx.get_peak_memory() - before


@EVERYWHERE
def test_few_large_results_are_alive(make):
    """One that is waited for, one that comes next; one whose element is yet to be read."""
    size = 4 * MIB
    assert size <= most_memory(make(workload(doubled, "large"))) <= 3 * size + MIB


@EVERYWHERE
@pytest.mark.parametrize("size", ["small", "middle"])
def test_small_results_alive_are_bounded(make, size):
    assert most_memory(make(workload(doubled, size))) <= chain.BYTES_UNDER_WAY + MIB


@EVERYWHERE
def test_intermediate_results_count_towards_the_limit_of_memory(make):
    assert most_memory(make(workload(extremes, "seed"))) <= 3 * 4 * MIB + MIB


def test_copies_have_results_of_their_own():
    reference = Reference(workload(doubled, "middle"), copies=5, keeps=5)
    reference(5)
    held = mx.get_active_memory()
    reference(20)
    assert mx.get_active_memory() == held
    assert len(reference._kept) == 5


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_windows_on_a_gpu_never_touch_a_copy_first(copies):
    """The windows of the first batch and, once inputs are exchanged, of every other batch."""
    works = [workload(doubled, "small", seed=seed) for seed in range(4)]
    reference = Reference(works[0], kind="cuda", copies=copies, keeps=copies)
    touched, form = [], reference.form.function
    object.__setattr__(
        reference.form, "function", lambda x: touched.append(np.array(x).tobytes()) or form(x=x)
    )
    for two in (works[:2], works[2:]):
        touched.clear()
        reference.load(*two)
        taken = {each.inputs["x"].tobytes() for each in two[:copies]}
        assert len(touched) >= copies
        assert set(touched) == taken
    touched.clear()
    reference.pass_over()  # by another form
    assert len(touched) == copies


def test_references_on_a_cpu_do_not_run_before_timing():
    RUNS.clear()
    reference = Reference(workload(doubled, "small"), copies=2)
    reference.pass_over()
    assert not RUNS


def test_references_on_a_gpu_need_the_gpu_of_mlx(monkeypatch):
    work = workload(doubled, "small")
    monkeypatch.setattr(mx.metal, "is_available", lambda: False)
    reference, missing = chain.create_reference("metal", work)
    assert reference is None
    assert missing == (chain.NO_GPU["metal"],)
    reference, missing = chain.create_reference("cpu", work)
    assert isinstance(reference, Reference)
    assert missing == ()


@pytest.mark.parametrize(("tf32", "remarks"), [(None, 0), ("0", 0), ("1", 1)])
def test_tf32_is_disabled_on_nvidia_unless_requested(monkeypatch, tf32, remarks):
    monkeypatch.setattr(mx.cuda, "is_available", lambda: True)
    monkeypatch.setenv("MLX_ENABLE_TF32", "")  # so that it is put back
    monkeypatch.delenv("MLX_ENABLE_TF32")
    if tf32 is not None:
        monkeypatch.setenv("MLX_ENABLE_TF32", tf32)
    monkeypatch.setattr(chain, "Reference", lambda *_, **__: "a reference")
    work = workload(doubled, "small")
    reference, said = chain.create_reference("cuda", work)
    assert reference == "a reference"
    assert [chain.ROUNDED] * remarks == list(said)
    assert os.environ["MLX_ENABLE_TF32"] == (tf32 or "0")
    monkeypatch.setattr(mx.cuda, "is_available", lambda: False)
    assert chain.create_reference("cuda", work) == (None, (chain.NO_GPU["cuda"],))


def metal_graph(
    monkeypatch, size: str, *, pass_ns: float, memory: int, cache: int, old_mlx: bool = False
) -> int:
    """Return the number of repetitions in a graph on a Mac where one takes `pass_ns` on the GPU."""
    latency_ns = 100_000  # of a graph, to the GPU and back
    graphs = 0

    def clock_ns() -> int:
        nonlocal graphs
        graphs += 1
        return int(RUNS["doubled"] * pass_ns + graphs // 2 * latency_ns)

    monkeypatch.setattr(chain.time, "perf_counter_ns", clock_ns)
    info = {"max_recommended_working_set_size": memory}
    if old_mlx:
        monkeypatch.delattr(mx, "device_info")
        monkeypatch.setattr(mx.metal, "device_info", lambda: info)
    else:
        monkeypatch.setattr(mx, "device_info", lambda device: info)
    monkeypatch.setattr(chain, "last_level_cache_bytes", lambda chip: cache)
    reference = Reference(workload(doubled, size), kind="metal")
    reference(2)
    return reference._most_in_graph


@pytest.mark.parametrize(
    ("pass_ns", "least", "most"),
    [(2e6, 1, 1), (1e6, 1, 1), (4e5, 3, 4), (1e5, 13, 16), (1e3, 64, 64)],
)
def test_a_graph_for_metal_has_a_millisecond_of_work(monkeypatch, pass_ns, least, most):
    found = metal_graph(monkeypatch, "large", pass_ns=pass_ns, memory=16 << 30, cache=8 * MIB)
    assert least <= found <= most


@pytest.mark.parametrize("old_mlx", [False, True])
def test_graphs_for_metal_take_no_more_than_a_part_of_the_working_set(monkeypatch, old_mlx):
    # Two graphs of results of 4 MiB in 64 MiB.
    found = metal_graph(
        monkeypatch, "large", pass_ns=1e4, memory=1 << 30, cache=8 * MIB, old_mlx=old_mlx
    )
    assert found == 8


def test_results_in_a_cache_are_not_spread_over_memory(monkeypatch):
    found = metal_graph(monkeypatch, "large", pass_ns=1e4, memory=16 << 30, cache=48 * MIB)
    assert found == 1
    found = metal_graph(monkeypatch, "middle", pass_ns=1e4, memory=16 << 30, cache=48 * MIB)
    assert found == 8


class OtherLibrary:
    """Another library's form of `doubled`."""

    name = "another library"

    def __init__(self) -> None:
        self.calls = 0

    def beside(self, kind: str) -> None:
        assert kind == "cuda"

    def load(self, *works) -> None:
        pass

    def outputs(self, arrays):
        return [2 * arrays["x"]]

    def __call__(self, repetitions: int) -> None:
        self.calls += repetitions


@pytest.mark.parametrize("has_gpu", [False, True])
def test_another_library_is_the_reference_where_the_gpu_of_mlx_cannot_be(monkeypatch, has_gpu):
    message = "LUF has no CUDA implementation."

    def lacking(x):
        raise RuntimeError(message)

    stream = chain.select_stream
    if has_gpu:
        # MLX runs on the processor here, and its reference raises what MLX's GPU would.
        monkeypatch.setattr(chain, "NO_GPU", {"cuda": "", "metal": ""})
        monkeypatch.setattr(
            chain, "select_stream", lambda kind: mx.gpu if kind == "cuda" else stream(kind)
        )
        monkeypatch.setattr(chain.mx, "stream", lambda _: nullcontext())
    work = workload(replace(doubled, reference=lacking), "small")
    reference, missing = chain.create_reference("cuda", work)
    assert reference is None
    expected = chain.LACKING.format(message.rstrip(".")) if has_gpu else chain.NO_GPU["cuda"]
    assert missing == (expected,)
    other = OtherLibrary()
    work = workload(replace(doubled, reference=lacking, apart=other), "small")
    reference, missing = chain.create_reference("cuda", work)
    assert missing == (expected, "the ratio is to another library, and not to MLX")
    before = other.calls
    choice = choose_form(reference, seconds=0.05)
    assert [each.name for each in choice.forms] == [reference.name] == [other.name]
    assert other.calls > before


def test_other_errors_of_a_reference_on_a_gpu_are_raised(monkeypatch):
    def wrong(x):
        raise RuntimeError("[matmul] the last dimension is wrong")

    monkeypatch.setattr(chain, "select_stream", lambda kind: mx.gpu)
    monkeypatch.setattr(chain.mx, "stream", lambda _: nullcontext())
    work = workload(replace(doubled, reference=wrong), "small")
    with pytest.raises(RuntimeError, match="last dimension"):
        chain.create_reference("cuda", work)


def test_mlx_judges_on_the_processor_where_its_gpu_lacks_an_operation(monkeypatch):
    streams = []

    def lacking_on_first(x):
        streams.append(len(streams))
        if len(streams) == 1:
            raise RuntimeError("[quantized_matmul] No implementation for problem shape: 1")
        return x + x

    work = workload(replace(doubled, reference=lacking_on_first), "small")
    (y,) = evaluate.outputs(work).values()
    assert np.array_equal(y, 2 * work.inputs["x"])
    assert len(streams) == 2
