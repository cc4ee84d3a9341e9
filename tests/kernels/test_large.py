"""Every kernel at sizes that no run on a processor has unless asked.

That is `large`, `huge`, and `seed` where MLX takes seconds for it. Some two hours on two cores:
`pytest -m slow -n0 tests/kernels/test_large.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metalbench import _core
from metalbench.kernel.library import Entry, Library
from metalbench.kernel.prepare import Builds
from metalbench.verify import VerifyPlan, verify

# Of one run of all dispatches, in seconds; the limit of other checks is for what is timed.
TIME_LIMIT = 300.0


def large_sizes() -> Iterator[object]:
    for entry in Library():
        for size in ("seed", "large", "huge"):
            if size != entry.task.headline:
                yield pytest.param(entry, size, id=f"{entry.name}-{size}")


@pytest.mark.slow
@pytest.mark.parametrize(("entry", "size"), list(large_sizes()))
def test_large_sizes_agree_with_the_oracle(entry: Entry, size: str) -> None:
    device = _core.open("cpu")
    report = verify(
        Builds(device, entry.kernel(), entry.task),
        VerifyPlan(sizes=[size], seeds=[0], time_limit=TIME_LIMIT),
    )
    assert report.passed, report.findings
