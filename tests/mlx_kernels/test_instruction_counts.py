"""benchmarks/instruction_counts.py counts what a kernel of MLX's must do."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from metalbench import _core

FILE = Path(__file__).resolve().parents[2] / "benchmarks/instruction_counts.py"


@pytest.fixture(scope="module")
def counts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("instruction_counts", FILE)
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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
