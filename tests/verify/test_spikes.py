"""Inputs in which single elements count, and what leaves one out."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest

from metalbench import _core
from metalbench.kernel.header import parse
from metalbench.kernel.library import find
from metalbench.kernel.prepare import compile_kernel
from metalbench.task import integers, normal, output, task
from metalbench.task.workload import workload
from metalbench.verify import Kind, Report
from metalbench.verify.examine import (
    LEAST,
    Examiner,
    add_spikes,
    examine_spikes,
    find_spike_places,
    magnifies_rounding,
)

SIZE = 100_000
SUM = """
// dispatch: total threads_in_grid=(1) threads=(1)
#include <metal_stdlib>
kernel void total(device const float* x, device float* y, constant uint& n) {
  float sum = 0, lost = 0;
  for (uint i = FIRST; i < LAST; ++i) {
    if (i == SKIPPED) continue;
    const float term = x[i] - lost, next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  y[0] = sum;
}
"""


def declared(oracle=lambda x: x.sum().reshape(1), dtype=("float32",)):
    @task(
        sizes=dict(seed=dict(n=SIZE)),
        inputs=dict(x=normal("n")),
        outputs=dict(y=output(1)),
        oracle=oracle,
        scale=lambda x: np.abs(x).sum().reshape(1),
        dtypes=dtype,
        flops="n",
    )
    def total(x):
        return x.sum().reshape(1)

    return total


def examined(seed=0, **left_out):
    total, device = declared(), _core.open("cpu")
    source = SUM
    for name, value in {"FIRST": 0, "LAST": "n", "SKIPPED": "n", **left_out}.items():
        source = source.replace(name, str(value))
    compiled = compile_kernel(device, parse(source, name="total"), total)
    work = add_spikes(workload(total, "seed", seed=seed))
    return examine_spikes(Examiner(compiled.bind(work), device, 10.0))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_kernel_that_uses_every_element_passes(seed):
    assert examined(seed).passed


@pytest.mark.parametrize(
    ("left_out", "end"), [({"LAST": "n - 1"}, "last"), ({"FIRST": 1}, "first")]
)
def test_an_omitted_end_is_found_and_named(left_out, end):
    (finding,) = examined(**left_out).findings
    assert finding.kind is Kind.WRONG_RESULT
    assert f"the {end} one is left out" in finding.message


def test_an_omitted_edge_of_a_tile_is_found_and_named():
    places = find_spike_places(workload(declared(), "seed"))["x"]
    index = next(int(each) for each in places if each % 16 in (0, 15) and 0 < each < SIZE - 1)
    (finding,) = examined(SKIPPED=index).findings
    assert f"it is as if x[{index}] were left out" in finding.message


WAVES = """
// dispatch: waves threads_in_grid=(n) threads=(256)
#include <metal_stdlib>
kernel void waves(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = FACTOR * metal::precise::sin(STEEPNESS * x[i]);
}
"""


def examined_waves(steepness: float, factor: float):
    @task(
        sizes=dict(seed=dict(n=1000)),
        inputs=dict(x=normal("n")),
        outputs=dict(y=output("n")),
        oracle=lambda x: np.sin(steepness * x),
        flops="n",
    )
    def waves(x):
        return mx.sin(steepness * x)

    device = _core.open("cpu")
    source = WAVES.replace("STEEPNESS", f"{steepness}f").replace("FACTOR", f"{factor}f")
    compiled = compile_kernel(device, parse(source, name="waves"), waves)
    work = add_spikes(workload(waves, "seed", seed=0))
    return examine_spikes(Examiner(compiled.bind(work), device, 10.0))


def test_spikes_that_magnify_rounding_are_not_judged():
    report = examined_waves(1000.0, 1.0)
    assert report.passed
    assert report.skipped == (
        "spikes are not judged, as they magnify rounding: seed 0 at size seed",
    )


def test_spikes_that_do_not_magnify_rounding_are_judged():
    assert examined_waves(1.0, 1.0) == Report()
    (finding,) = examined_waves(1.0, 1.01).findings
    assert finding.kind is Kind.WRONG_RESULT


def test_spikes_are_few_and_keep_signs():
    plain = workload(declared(), "seed")
    spiked = add_spikes(plain)
    places = find_spike_places(plain)["x"]
    before, after = plain.inputs["x"], spiked.inputs["x"]
    changed = np.flatnonzero(before != after)
    np.testing.assert_array_equal(changed, np.sort(places))
    assert {0, SIZE - 1} < set(changed)
    assert len(changed) < 40
    assert (np.signbit(before) == np.signbit(after)).all()
    assert np.abs(after[changed]).min() > LEAST / 8
    assert np.abs(after).argmax() == places[0] == SIZE - 1


def test_spikes_are_smaller_if_the_oracle_overflows():
    # exp of what a spike would be is beyond float32.
    plain = workload(declared(lambda x: np.exp(x).sum().reshape(1)), "seed")
    spiked = add_spikes(plain)
    assert np.isfinite(spiked.expected["y"].astype(np.float32)).all()
    assert np.abs(spiked.inputs["x"]).max() > np.abs(plain.inputs["x"]).max()


def test_indices_have_none():
    @task(
        sizes=dict(seed=dict(n=64)),
        inputs=dict(at=integers("n", high="n")),
        outputs=dict(y=output("n", dtype="uint32")),
        oracle=lambda at: at,
        flops="n",
    )
    def same(at):
        return at

    assert add_spikes(workload(same, "seed")) is None


def test_a_deep_network_that_magnifies_rounding_in_its_layers_is_not_judged():
    (entry,) = find(["kb3_024_efficientnet_b2"], "kernelbench", ())
    network = workload(entry.task, "cpu", dtype_name="float32", seed=5519825869323)
    assert magnifies_rounding(add_spikes(network))
