"""MLX's kernels run and give what mlx gives on the CPU."""

from __future__ import annotations

from pathlib import Path

import mlx.core as mx
import pytest
from mlx_kernels.bench import Bench, Check
from mlx_kernels.checks import CHECKS
from mlx_kernels.family import Family

from metalbench import _core

# What checked builds have to say about MLX's own kernels, true of all three.
KNOWN = {
    "gemv": "gemv.h:.* has returned without reaching it",
    "fft": "fft.h:.* has returned without reaching it",
    "scan": "scan.h:.* read of threadgroup memory that no thread of the group has written",
}
every_check = pytest.mark.parametrize(
    ("family", "function"), CHECKS, ids=[f"{f.name}-{c.__name__}" for f, c in CHECKS]
)


@every_check
def test_kernels_agree_with_mlx(
    family: Family, function: Check, device: _core.Device, headers: Path
):
    with mx.stream(mx.cpu):
        outcomes = list(function(Bench(device, headers)))
    assert outcomes, f"{family.name} runs nothing"
    wrong = [outcome for outcome in outcomes if not outcome.passed]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.slow
@every_check
def test_checked_builds_have_no_false_findings(
    family: Family, function: Check, device: _core.Device, headers: Path
):
    bench = Bench(device, headers, checked=True)
    with mx.stream(mx.cpu):
        if function.__name__ in KNOWN:
            with pytest.raises(_core.KernelFault, match=KNOWN[function.__name__]):
                list(function(bench))
        else:
            assert all(outcome.passed for outcome in function(bench))
