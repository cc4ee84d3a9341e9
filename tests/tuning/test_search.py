"""A search among values of which one is fast, one is slow and one is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.comparison.head_to_head import WrongKernelError
from metalbench.errors import DeclarationError
from metalbench.kernel import Kernel, parse
from metalbench.measure import Plan
from metalbench.task import Task, normal, output, task
from metalbench.tuning import Candidate, Search, tune

KERNEL = """// Twice the input, after some work in vain.
// dispatch: twice  threads_in_grid=(n)  threads=(256)
// tune: WORK = 400, 4, 7, 2000
#include <metal_stdlib>
using namespace metal;

[[kernel]] void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float v = x[i];
  for (uint k = 0; k < WORK; ++k) {
    v = fma(v, 1.0000001f, 1e-30f);
  }
  y[i] = v == 12345.0f ? 0.0f : WORK == 7 ? 3 * x[i] : 2 * x[i];
}
"""
QUICK = Plan(seconds=0.05, warmup_ns=0, min_pairs=12, first_look=32, look_pairs=8)


@task(
    sizes=dict(small=dict(n=100), odd1=dict(n=37), seed=dict(n=2048)),
    inputs=dict(x=normal("n")),
    outputs=dict(y=output("n")),
    oracle=lambda x: 2 * x,
    flops="n",
)
def doubled(x):  # type: ignore[no-untyped-def]
    return x + x


class Listener:
    def __init__(self) -> None:
        self.seen: list[tuple[int, int, Candidate]] = []
        self.confirmed: list[Candidate] = []

    def candidate(self, number: int, total: int, candidate: Candidate) -> None:
        self.seen.append((number, total, candidate))

    def confirming(self, best: Candidate) -> None:
        self.confirmed.append(best)


@pytest.fixture
def device() -> _core.Device:
    return _core.open("cpu")


def kernel(source: str = KERNEL) -> Kernel:
    return parse(source, name="doubled")


def search(path: Path, source: str = KERNEL, **options: object) -> Search:
    assert isinstance(doubled, Task)
    plans = {"candidate_plan": QUICK, "confirmation_plan": QUICK}
    return Search(doubled, kernel(source), path / "tuning.journal", **{**plans, **options})  # type: ignore[arg-type]


def test_the_fastest_right_value_wins(device: _core.Device, tmp_path: Path) -> None:
    heard = Listener()
    found = tune(device, search(tmp_path), heard)
    assert found.tuning.values == {"WORK": 4}
    assert found.confirmation is not None
    assert found.confirmation.low > 1.5
    assert found.complete
    assert [each.values for each in found.faults] == [{"WORK": 7}]
    assert "expected" in found.faults[0].fault
    assert (found.tuning.task, found.tuning.size) == ("doubled", "seed")
    assert found.tuning.source_hash == kernel().hash
    assert found.tuning.candidates == 4
    assert [number for number, _, _ in heard.seen] == [1, 2, 3, 4]
    assert heard.seen[0][2] == Candidate({"WORK": 400}, 1.0)
    assert [each.values for each in heard.confirmed] == [{"WORK": 4}]


def test_defaults_that_are_the_best_stay(device: _core.Device, tmp_path: Path) -> None:
    source = KERNEL.replace("WORK = 400, 4, 7, 2000", "WORK = 4, 4000")
    heard = Listener()
    found = tune(device, search(tmp_path, source), heard)
    assert found.tuning.values == {"WORK": 4}
    assert found.confirmation is None
    assert found.tuning.ratio is None
    assert not heard.confirmed


def test_it_ends_in_time_and_goes_on_where_it_was(device: _core.Device, tmp_path: Path) -> None:
    ticks: Iterator[int] = count()
    found = tune(
        device, search(tmp_path, seconds=2.5), Listener(), clock=lambda: float(next(ticks))
    )
    assert not found.complete
    assert found.tuning.candidates == 3
    heard = Listener()
    found = tune(device, search(tmp_path), heard)
    assert found.complete
    assert [number for number, _, _ in heard.seen] == [1, 2, 3, 4]


def test_another_text_is_another_search(device: _core.Device, tmp_path: Path) -> None:
    tune(device, search(tmp_path), Listener())
    heard = Listener()
    tune(device, search(tmp_path, KERNEL + "// more\n", seconds=0.0), heard)
    assert len(heard.seen) == 1


def test_defaults_must_be_right(device: _core.Device, tmp_path: Path) -> None:
    source = KERNEL.replace("WORK = 400, 4, 7, 2000", "WORK = 7, 4")
    with pytest.raises(
        WrongKernelError, match=r"doubled with its defaults is not correct.*\[doubled\]"
    ):
        tune(device, search(tmp_path, source), Listener())


def test_a_kernel_without_tunables_is_told(device: _core.Device, tmp_path: Path) -> None:
    source = KERNEL.replace("// tune: WORK = 400, 4, 7, 2000\n", "").replace("WORK", "3")
    with pytest.raises(DeclarationError, match="has nothing to tune"):
        tune(device, search(tmp_path, source), Listener())
