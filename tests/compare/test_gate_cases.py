"""Regressions of synthetic results: what fails, what does not, and what cannot be decided."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from metalbench.compare import comparison
from metalbench.compare.comparison import RegressionOutcome, RegressionState, find_regressions
from metalbench.compare.results import ComparedRow, ResultSet
from metalbench.errors import DeclarationError
from metalbench.stats import Interval

DEVICE = "cpu (one)"
ALLOWED = 0.05


def interval(value, spread=0.01):
    return Interval(value, value * (1 - spread), value * (1 + spread))


def row(own_us, mlx_us, *, spread=0.01, source="a", verdict=None, **changed):
    ratio = interval(mlx_us / own_us, spread)
    facts = {
        "task": "softmax",
        "dtype": "float32",
        "size": "seed",
        "sizes": {"n": 8},
        "status": "correct",
        "mode": "warm",
        "engine": "vectors",
        "clock": "wall time",
        "reference": ("mx.softmax", "0.32"),
    }
    return ComparedRow(
        **{**facts, **changed},
        source_hash=source,
        time_ns=interval(1000 * own_us, spread),
        ratio=ratio,
        verdict=verdict,
    )


@pytest.fixture
def gate(monkeypatch):
    """Compares rows as a baseline and a run."""

    def look(before, after, *, devices=(DEVICE, DEVICE), allowed=ALLOWED) -> RegressionOutcome:
        latest = ResultSet("run:2", devices[1], tuple(after))
        of_run = SimpleNamespace(of_run=lambda *_: latest)
        monkeypatch.setattr(comparison, "ResultSet", of_run)
        baseline = ResultSet("main", devices[0], tuple(before))
        return find_regressions(None, 2, baseline=baseline, allowed=allowed)

    return look


def states(found):
    return len(found.regressed), len(found.inconclusive)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(row(210, 322), row(204, 45), (0, 0), id="own time better, MLX far faster"),
        pytest.param(row(210, 322), row(260, 322), (1, 0), id="slower than the same MLX"),
        pytest.param(row(210, 322), row(260, 200), (1, 0), id="slower, and MLX faster"),
        pytest.param(row(210, 322), row(420, 644), (0, 0), id="all slower: another machine state"),
        pytest.param(row(210, 322), row(212, 322), (0, 0), id="within what is allowed"),
        pytest.param(row(210, 322), row(150, 322), (0, 0), id="faster"),
        pytest.param(row(210, 322), row(225, 250), (0, 1), id="ratio surely, own time not surely"),
        pytest.param(
            row(210, 322), row(215, 322, spread=0.6), (0, 1), id="wide intervals decide nothing"
        ),
        pytest.param(
            row(210, 322, spread=0.6), row(215, 322), (0, 1), id="a wide baseline decides nothing"
        ),
        pytest.param(
            row(210, 322), row(260, 322, verdict="THROTTLED"), (0, 1), id="throttled in this run"
        ),
        pytest.param(
            row(210, 322, verdict="THROTTLED"), row(260, 322), (0, 1), id="throttled before"
        ),
        pytest.param(
            row(210, 322, verdict="INCONCLUSIVE"),
            row(260, 322, verdict="INCONCLUSIVE"),
            (1, 0),
            id="inconclusive against MLX is not inconclusive against the past",
        ),
        pytest.param(
            row(210, 322), row(260, 322, reference=("mx.softmax", "0.33")), (1, 0), id="other MLX"
        ),
        pytest.param(
            row(210, 322), row(211, 45, reference=("compiled", "0.32")), (0, 0), id="other form"
        ),
    ],
)
def test_gate_of_one_kernel(gate, before, after, expected):
    assert states(gate([before], [after])) == expected


def test_an_unbounded_interval_decides_nothing(gate):
    endless = Interval(1.5, -math.inf, math.inf)
    before, after = row(210, 322), row(215, 322, spread=0.5)
    object.__setattr__(after, "ratio", endless)
    assert states(gate([before], [after])) == (0, 1)


@pytest.mark.parametrize(("source", "same"), [("a", True), ("b", False)])
def test_the_digest_says_whether_the_source_changed(gate, source, same):
    (found,) = gate([row(210, 322)], [row(260, 322, source=source)]).regressed
    assert found.same_source is same


@pytest.mark.parametrize("changed", [{"size": "large"}, {"dtype": "float16"}, {"task": "gelu"}])
def test_a_kernel_without_a_baseline_is_left_out(gate, changed):
    other = row(210, 322)
    found = gate([other, row(210, 322)], [row(300, 322, **changed), other])
    assert states(found) == (0, 0)
    assert found.compared == 1


@pytest.mark.parametrize(
    "changed", [{"sizes": {"n": 9}}, {"mode": "cold"}, {"engine": "fibers"}], ids=str
)
def test_other_conditions_are_refused(gate, changed):
    with pytest.raises(DeclarationError, match="do not compare"):
        gate([row(210, 322)], [row(260, 322, **changed)])


def test_another_machine_is_refused(gate):
    with pytest.raises(DeclarationError, match="do not compare"):
        gate([row(210, 322)], [row(260, 322)], devices=(DEVICE, "cpu (other)"))


def test_no_baseline_in_common_is_refused(gate):
    with pytest.raises(DeclarationError, match="no kernel in common"):
        gate([row(210, 322)], [row(210, 322, dtype="float16")])


def test_a_second_measurement_confirms_clears_or_leaves_it_open(gate):
    before = [row(210, 322, task=name) for name in ("a", "b", "c", "d")]
    first = gate(before, [row(260, 322, task=name) for name in ("a", "b", "c")])
    again = [row(262, 322, task="a"), row(211, 322, task="b"), row(225, 250, task="c")]
    found = first.after_another_run(gate(before, again))
    assert [each.task for each in found.regressed] == ["a"]
    assert [each.task for each in found.cleared] == ["b"]
    assert [each.task for each in found.inconclusive] == ["c"]
    assert found.regressed[0].suspected == first.regressed[0].judgement


def test_a_larger_share_allows_more(gate):
    (found,) = gate([row(210, 322)], [row(260, 322)]).regressed
    assert found.state(0.05) is RegressionState.REGRESSED
    assert found.state(0.5) is RegressionState.NOT_SLOWER
