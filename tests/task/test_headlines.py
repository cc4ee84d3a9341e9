"""The sizes that are timed on GPUs: the time of a pass at the roofline, and the choice by chip."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from metalbench.chips import PeakRates, peak_rates
from metalbench.kernel.library import Library
from metalbench.run.budget import estimate_requirement
from metalbench.store.result import DeviceFacts
from metalbench.task import normal, output, task
from metalbench.task.declaration import SHORTEST_PASS_S, draw_size
from metalbench.task.dtypes import dtype

LIBRARY = Library()
TASKS = pytest.mark.parametrize("entry", list(LIBRARY), ids=lambda each: each.name)
# An M4 Max with 40 cores: its published bandwidth, and 128 lanes a core, 2 operations, 1.68 GHz.
MAX = PeakRates(bytes_per_s=546e9, flops_per_s=17.2e12)
# Tasks whose pass is shorter at `huge`, with the time in ms that it takes at least, and why.
SHORTER = {
    # Declared are the bytes of one element of each row of eight. Memory moves whole lines, all
    # bytes of all rows: 1.23 ms. Ones that are declared would need 2 GiB, and 4 GiB in float64.
    "nll_loss": 0.35,
}


@TASKS
def test_a_pass_at_huge_takes_a_millisecond_on_a_max(entry):
    task = entry.task
    assert task.gpu_headlines == ("large", "huge")
    seconds = MAX.least_seconds(*task.work("huge"))
    if task.name in SHORTER:
        assert SHORTER[task.name] * 1e-3 <= seconds < 1e-3
    else:
        assert 1e-3 <= seconds <= 2.5e-3


@TASKS
def test_huge_is_large_with_more_of_its_first_name(entry):
    """The batch, or the rows; so rows are as long as at `large`, and draws of sizes the same."""
    task = entry.task
    (first, most), *others = task.sizes["huge"].items()
    large = dict(task.sizes["large"])
    assert most > large.pop(first)
    assert dict(others) == large
    without = {size: each for size, each in task.sizes.items() if size != "huge"}
    before = replace(task, sizes=without, gpu_headlines=("large",))
    assert [draw_size(task, seed) for seed in range(20)] == [
        draw_size(before, seed) for seed in range(20)
    ]


@TASKS
def test_kernels_can_index_every_array_by_32_bits(entry):
    """Indices are uint and offsets of bytes, too; some kernels compare them as int."""
    task = entry.task
    for size in task.sizes:
        values = task.values(size)
        for each in (*task.inputs.values(), *task.outputs.values()):
            elements = math.prod(each.shape_at(values))
            assert elements < 2**31
            assert all(elements * each.type_in(dtype(kind)).nbytes < 2**32 for kind in task.dtypes)


@TASKS
def test_huge_fits_into_a_mac_of_16_gb(entry):
    """Inputs, outputs and the oracle's copies, in the half of the memory that a trial may use."""
    for kind in entry.task.dtypes:
        need = estimate_requirement(entry.task, "huge", kind, "metal")
        assert need.host_bytes < 8 << 30
        assert need.seconds < 120


@pytest.mark.parametrize(
    ("chip", "cores", "size"),
    [
        ("m1", 8, "large"),
        ("m2", 10, "large"),
        ("m3", 10, "large"),
        ("m4", 10, "large"),
        ("m1_pro", 16, "huge"),
        ("m4_pro", 20, "huge"),
        ("m4_max", 32, "huge"),
        ("m4_max", 40, "huge"),
        ("m3_ultra", 80, "huge"),
        ("m3_ultra", 0, "huge"),
        # A virtual GPU, and a chip that is newer than the table.
        (None, 0, "large"),
        ("m99_max", 40, "large"),
    ],
)
@pytest.mark.parametrize("name", ["relu", "softmax"])
def test_headline_on_chooses_the_size_by_the_chip(name, chip, cores, size):
    device = DeviceFacts("metal", "a GPU", chip, cores)
    assert LIBRARY.entry(name).task.headline_on(device) == size


def test_headline_on_other_devices_than_apple_gpus_is_the_first():
    relu = LIBRARY.entry("relu").task
    nvidia = DeviceFacts("cuda", "NVIDIA H100 80GB HBM3", "h100", 132)
    assert relu.headline_on(nvidia) == "large"
    assert relu.headline_on(DeviceFacts("cpu", "a processor", None, 2)) == "seed"


@TASKS
def test_headline_on_is_the_smallest_that_takes_long_enough(entry):
    for chip, cores in (("m1", 8), ("m4", 10), ("m4_pro", 20), ("m4_max", 32), ("m4_max", 40)):
        rates = peak_rates(chip, cores)
        large, huge = (rates.least_seconds(*entry.task.work(each)) for each in ("large", "huge"))
        chosen = entry.task.headline_on(DeviceFacts("metal", "a GPU", chip, cores))
        assert (chosen == "large") == (large >= SHORTEST_PASS_S)
        assert huge >= SHORTEST_PASS_S or entry.name in SHORTER


def test_headline_on_depends_on_the_number_of_cores():
    """240 MB take 0.59 ms at 410 GB/s, and 0.44 ms at 546 GB/s."""

    @task(
        sizes=dict(seed=dict(n=8), large=dict(n=30_000_000), huge=dict(n=60_000_000)),
        gpu_headlines=("large", "huge"),
        inputs=dict(x=normal("n")),
        outputs=dict(y=output("n")),
        oracle=lambda x: x,
        flops="n",
    )
    def same(x):
        return x

    chosen = [
        same.headline_on(DeviceFacts("metal", "Apple M4 Max", "m4_max", cores))
        for cores in (32, 40, 0)
    ]
    assert chosen == ["large", "huge", "huge"]


def test_headline_on_counts_arithmetic_too():
    """A product of matrices has few bytes: 2.8 ms of arithmetic on an M1, 0.4 ms of memory."""
    product = LIBRARY.entry("sqr_mm").task
    assert product.bytes("large", "float32") / 68.25e9 < SHORTEST_PASS_S
    assert product.headline_on(DeviceFacts("metal", "Apple M1", "m1", 8)) == "large"
