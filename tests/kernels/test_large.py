"""Every kernel at its `large` size: `pytest -m slow tests/kernels/test_large.py`, some minutes."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.kernel.library import Entry, Library
from metalbench.verify import verify

# Of one run of all dispatches, in seconds; the limit of other checks is for what is timed.
TIME_LIMIT = 300.0


@pytest.mark.slow
@pytest.mark.parametrize("entry", list(Library()), ids=lambda entry: entry.name)
def test_large_sizes_agree_with_the_oracle(entry: Entry) -> None:
    device = _core.open("cpu")
    report = verify(
        device, entry.kernel(), entry.task, sizes=["large"], seeds=[0], time_limit=TIME_LIMIT
    )
    assert report.passed, report.findings
