"""benchmarks/instruction_counts.py counts what a kernel of MLX's must do."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from metalbench import _core

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def counts() -> ModuleType:
    # By name, as a process that counts imports it too.
    sys.path.append(str(BENCHMARKS))
    return import_module("instruction_counts")


def test_counts_of_softmax(counts: ModuleType, device: _core.Device, headers: Path):
    rows, columns = 2, 512
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
    (launch,), out = counts._softmax({"x": x}, dict(rows=rows, cols=columns))
    found = counts.count_mlx(device, [headers], launch)
    wide = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(out, wide / wide.sum(axis=1, keepdims=True), rtol=1e-5)
    total = found.total
    # One thread for four elements, each of which is read, written and raised once.
    assert found.threads == x.size // 4
    assert total.device_reads == total.device_writes == x.size
    assert total.device_bytes_read == total.device_bytes_written == x.nbytes
    assert total.float_special == x.size
    assert total.barriers == 5 * found.simdgroups


@pytest.mark.slow
def test_optimised_counts_include_instructions_without_a_line(
    counts: ModuleType, headers: Path, tmp_path: Path
):
    # LLVM's passes remove the lines of half of the loads of this kernel's loop.
    case = counts.CASES["decode"]
    setup = (str(tmp_path),)
    with ProcessPoolExecutor(
        1, get_context("spawn"), counts.optimise_before_counting, setup
    ) as pool:
        ((ours, _), _) = pool.submit(counts.count_sides, "decode", [headers]).result()
    keys, dims = case.size["keys"], case.size["dims"]
    cache_bytes = 2 * keys * dims * 2
    assert cache_bytes <= ours.device_bytes_read < 1.1 * cache_bytes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemm_max", "prefill"])
def test_products_have_no_more_integers_than_those_of_mlx(
    counts: ModuleType, name: str, headers: Path, tmp_path: Path
):
    # An address for each element, or a test of its bounds, is several times as many.
    setup = (str(tmp_path),)
    with ProcessPoolExecutor(
        1, get_context("spawn"), counts.optimise_before_counting, setup
    ) as pool:
        ours, theirs = pool.submit(counts.count_sides, name, [headers]).result()
    (mine, _), (other, _) = ours, theirs
    assert mine.integer < 1.25 * other.integer
    assert mine.device_bytes_read <= other.device_bytes_read
