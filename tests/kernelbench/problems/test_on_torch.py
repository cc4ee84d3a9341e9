"""The bodies of problems on PyTorch have the results of the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from metalbench.kernel.library import Library
from metalbench.task.workload import workload

torch = pytest.importorskip("torch", reason="extra kernelbench")
LIBRARY = Library()
NAMES = [name for level in (1, 2, 3) for name in LIBRARY.names(f"kernelbench/level{level}")]
# The mean of a group norm is 0: of the result nothing but rounding is left.
CANCELLED = {"kb2_023_conv3d_group_norm_mean"}


def tensor(values: np.ndarray[Any, Any]) -> Any:
    wide = values.astype(np.int64) if values.dtype.kind in "iu" else np.array(values)
    return torch.from_numpy(wide)


@pytest.mark.parametrize("name", NAMES)
def test_the_body_on_pytorch_has_the_results_of_the_oracle(name: str) -> None:
    task = LIBRARY.entry(name).task
    work = workload(task, "small", seed=0)
    assert task.torch is not None
    found = task.torch(
        torch, *(tensor(work.inputs[each]) for each in task.inputs), *task.constants.values()
    )
    several = found if isinstance(found, tuple) else (found,)
    for got, (output, expected) in zip(several, work.expected.items(), strict=True):
        assert tuple(got.shape) == expected.shape
        # Deep networks amplify rounding errors.
        size = 1.0 if name in CANCELLED else float(np.abs(expected).max())
        largest = float(np.abs(got.numpy().astype(np.float64) - expected).max())
        assert largest <= 1e-3 * size, output
