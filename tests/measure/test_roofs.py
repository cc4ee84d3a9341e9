"""The roofs of a GPU are measured once for a machine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from metalbench import _core
from metalbench.measure import device_limits
from metalbench.measure.device_limits import (
    Ceiling,
    Roofs,
    measure_peaks,
    roofs_of,
    tensor_gflops_of,
)
from metalbench.measure.measurement import TimingMode
from metalbench.run.attempt import find_peaks

MIB = 1 << 20


class _WithCache:
    """The cpu device, which tells of a cache as a GPU does."""

    def __init__(self) -> None:
        self._device = _core.open("cpu")
        self.cores = 1
        self.capabilities = {"l2_bytes": MIB}

    def __getattr__(self, name):
        return getattr(self._device, name)


@pytest.fixture(autouse=True)
def _cache_of_its_own(monkeypatch):
    kept = {}
    monkeypatch.setattr(device_limits.build_cache, "load", kept.get)
    monkeypatch.setattr(device_limits.build_cache, "store", kept.__setitem__)


def test_roofs_of_measures_once(monkeypatch):
    monkeypatch.setattr(device_limits, "STEPS", 1)
    monkeypatch.setattr(device_limits, "PLAN", {"warmup_ns": 0, "window_ns": 1e4, "max_pairs": 2})
    device = _WithCache()
    found = roofs_of(device)
    # A 386 would do.
    assert min(found.float32_gflops, found.memory_gbytes_per_s, found.cache_gbytes_per_s) > 0.01
    monkeypatch.setattr(device_limits, "_least_ns", None)
    assert roofs_of(device) == found


def test_roofs_of_a_device_without_a_cache_size_is_undefined():
    assert roofs_of(_core.open("cpu")) is None
    assert find_peaks(_core.open("cpu"), 1e9, "float32", TimingMode.WARM) is None


def test_rates_count_the_operations_and_bytes_of_the_kernels(monkeypatch):
    monkeypatch.setattr(device_limits, "_least_ns", lambda *_: 1000.0)
    found = roofs_of(_WithCache())
    threads = device_limits.THREADGROUPS_A_CORE * device_limits.THREADS
    assert (
        found.float32_gflops == 2 * 2 * device_limits.CHAINS * device_limits.STEPS * threads / 1000
    )
    # The copy moves its bytes twice.
    assert found.memory_gbytes_per_s == 2 * 3 * MIB / 1000
    assert found.cache_gbytes_per_s == 2 * MIB / 4 / 1000


@pytest.mark.parametrize(
    ("mebibytes", "dtype", "mode", "expected"),
    [
        (2, "float32", TimingMode.WARM, (1.0, 4.0, "its cache of 1 MiB")),
        (3, "float32", TimingMode.WARM, (1.0, 3.0, "memory")),
        (2, "float32", TimingMode.COLD, (1.0, 3.0, "memory")),
        (2, "bfloat16", TimingMode.WARM, (2.0, 4.0, "its cache of 1 MiB")),
    ],
)
def test_find_peaks_uses_the_cache_for_data_that_fits_it(
    monkeypatch, mebibytes, dtype, mode, expected
):
    monkeypatch.setattr("metalbench.run.attempt.roofs_of", lambda _: Roofs(1.0, 2.0, 3.0, 4.0))
    peaks = find_peaks(_WithCache(), mebibytes * MIB, dtype, mode)
    gflops, moved, where = expected
    assert (peaks.gflops, peaks.gbytes_per_s) == (gflops, moved)
    assert f"copies in {where}," in peaks.source


@pytest.mark.parametrize(
    ("products", "expected"),
    [(9.0, (9.0, "matrix products through tensors")), (1.5, (2.0, "multiply-adds in float16"))],
)
def test_find_peaks_holds_kernels_with_tensors_against_matrix_products(
    monkeypatch, products, expected
):
    monkeypatch.setattr("metalbench.run.attempt.roofs_of", lambda _: Roofs(1.0, 2.0, 3.0, 4.0))
    monkeypatch.setattr("metalbench.run.attempt.tensor_gflops_of", lambda *_: products)
    device = _WithCache()
    peaks = find_peaks(device, 9 * MIB, "float16", TimingMode.WARM, tensors=True)
    assert (peaks.gflops, peaks.source.rpartition(", ")[2]) == expected
    without = find_peaks(device, 9 * MIB, "float16", TimingMode.WARM)
    assert without.gflops == 2.0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensor_gflops_of_multiplies_and_measures_once(monkeypatch, dtype):
    monkeypatch.setattr(device_limits, "THREADGROUPS_A_CORE", 2)
    monkeypatch.setattr(device_limits, "TENSOR_DEPTH", 32)
    plan = {"warmup_ns": 0, "window_ns": 1e4, "max_pairs": 2}
    monkeypatch.setattr(device_limits, "PLAN", plan)
    device = _WithCache()
    found = tensor_gflops_of(device, dtype)
    assert found > 0.001
    monkeypatch.setattr(device_limits, "_tensor_gflops", None)
    assert tensor_gflops_of(device, dtype) == found


def test_the_tensor_rate_counts_the_operations_of_the_kernel(monkeypatch):
    class Timed(_WithCache):
        def sample(self, dispatches, **_):
            self.run(dispatches)
            return SimpleNamespace(candidate_ns=[2e3, 1e3])

    monkeypatch.setattr(device_limits, "THREADGROUPS_A_CORE", 1)
    monkeypatch.setattr(device_limits, "TENSOR_DEPTH", 32)
    assert tensor_gflops_of(Timed(), "float32") == 2 * 64 * 64 * 32 / 1e3


@pytest.mark.parametrize(
    ("with_halves", "gflops", "kind"), [(False, 1.0, "float32"), (True, 2.0, "float16")]
)
def test_measure_peaks_of_a_gpu_are_its_roofs(monkeypatch, with_halves, gflops, kind):
    monkeypatch.setattr(device_limits, "roofs_of", lambda _: Roofs(1.0, 2.0, 3.0, 4.0))
    peaks = measure_peaks(_WithCache(), with_halves=with_halves)
    assert (peaks.gflops, peaks.gbytes_per_s, peaks.cache_gbytes_per_s) == (gflops, 3.0, 4.0)
    assert f"multiply-adds in {kind}" in peaks.source


def test_measure_peaks_of_a_busy_host_are_measured_again_and_only_rise(monkeypatch):
    device = _core.open("cpu")
    quiet = [False, False, True]
    rates = iter([5.0, 6.0, 9.0, 4.0, 7.0, 7.0])
    monkeypatch.setattr(device_limits, "_is_quiet", lambda _: quiet.pop(0))
    monkeypatch.setattr(device_limits, "_gbytes_per_s", lambda *_: next(rates))
    monkeypatch.setattr(device_limits, "ceiling_of", lambda _: Ceiling(100.0, 200.0))
    found = [measure_peaks(device)]
    assert measure_peaks(device, again=False) == found[0]
    found += [measure_peaks(device) for _ in range(3)]
    # Memory, then the cache, which is not slower. The last ones were measured in quiet and stay.
    assert [each.gbytes_per_s for each in found] == [5.0, 9.0, 9.0, 9.0]
    assert [each.cache_gbytes_per_s for each in found] == [6.0, 9.0, 9.0, 9.0]
    assert {each.gflops for each in found} == {100.0}


def test_copies_in_memory_exceed_the_cache_of_a_host(monkeypatch):
    sizes = []
    monkeypatch.setattr(
        device_limits, "_gbytes_per_s", lambda *given: sizes.append(given[2]) or 1.0
    )
    monkeypatch.setattr(device_limits, "ceiling_of", lambda _: Ceiling(1.0, 1.0))
    monkeypatch.setattr(device_limits, "last_level_cache_bytes", lambda _: 8 * MIB)
    measure_peaks(_core.open("cpu"))
    assert sizes == [24 * MIB, 2 * MIB]
