"""MLX's kernels run and give what mlx gives on the CPU."""

from __future__ import annotations

from pathlib import Path

import mlx.core as mx
import pytest
from mlx_kernels.bench import Bench, Check
from mlx_kernels.checks import CHECKS
from mlx_kernels.family import Family

from metalbench import _core


@pytest.mark.parametrize(
    ("family", "function"), CHECKS, ids=[f"{f.name}-{c.__name__}" for f, c in CHECKS]
)
def test_kernels_give_what_mlx_gives(
    family: Family, function: Check, device: _core.Device, headers: Path
):
    with mx.stream(mx.cpu):
        outcomes = list(function(Bench(device, headers)))
    assert outcomes, f"{family.name} runs nothing"
    wrong = [outcome for outcome in outcomes if not outcome.passed]
    assert not wrong, "\n".join(map(str, wrong))
