"""A task's past: the best, the latest, and regressions."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace

import numpy as np
from rich.console import Console

from metalbench.compare.results import TaskHistory, group_histories
from metalbench.report import history
from metalbench.report.console import PIPE_WIDTH
from metalbench.report.history import history_report, revision_text
from metalbench.stats import Interval, Verdict
from metalbench.store.history import HistoryEntry

REVISION = "1a2b3c4d" + 32 * "0"


def about(value: float, half_width: float = 0.004) -> Interval:
    return Interval(value, value / (1 + half_width), value * (1 + half_width))


def entry(
    number: int, time_ns: float, ratio: float | None = None, source: str = ""
) -> HistoryEntry:
    return HistoryEntry(
        id=number,
        run=number,
        recorded_at=f"2030-01-{number:02d}T10:00:00+00:00",
        device_kind="cpu",
        device_name="Example CPU",
        task="softmax",
        size="seed",
        dtype="float32",
        kernel="softmax.metal",
        source_hash=source or f"{number:064d}",
        status="correct",
        verdict="SAME",
        mode="warm",
        engine="fibers",
        clock=None,
        p_value=1.0,
        revision=REVISION,
        mlx="0.32",
        form=None,
        tunables={},
        sizes={"n": 4096},
        kernel_ns=about(time_ns),
        reference_ns=None,
        ratio=None if ratio is None else about(ratio),
        gpu_ns=None,
    )


def past(*times: float) -> TaskHistory:
    """Return a history of runs with these times, the earliest first."""
    entries = [entry(number, time_ns) for number, time_ns in enumerate(times, 1)]
    (only,) = group_histories(entries[::-1])
    return only


def test_a_slower_latest_is_a_regression_against_both() -> None:
    found = past(1000, 800, 900, 1000)
    assert found.best is not None
    assert found.best.id == 2
    assert found.against_best is not None
    assert found.against_previous is not None
    assert found.against_best.verdict is found.against_previous.verdict is Verdict.SLOWER
    assert math.isclose(found.against_best.ratio.value, 0.8)
    assert found.regressed


def test_the_latest_may_be_the_best() -> None:
    found = past(1000, 900, 800)
    assert found.latest is found.best
    assert found.against_best is None
    assert found.against_previous is not None
    assert found.against_previous.verdict is Verdict.FASTER
    assert not found.regressed


def test_one_result_has_no_comparison() -> None:
    found = past(1000)
    assert (found.against_previous, found.against_best, found.regressed) == (None, None, False)


def test_a_lucky_wide_result_is_not_the_best() -> None:
    entries = [entry(2, 1000), replace(entry(1, 700), kernel_ns=about(700, 0.6))]
    (found,) = group_histories(entries)
    assert found.best is not None
    assert found.best.id == 2


def test_noise_between_runs_of_one_source_is_not_a_regression() -> None:
    """Thirty runs of one text that scatter by 3 %, though each claims 0.4 %: no alarm."""
    random = np.random.default_rng(4)
    alarms = 0
    for _ in range(100):
        times = 1000.0 * random.lognormal(0.0, 0.03, 30)
        entries = [entry(i, time_ns, source="same") for i, time_ns in enumerate(times, 1)]
        (found,) = group_histories(entries[::-1])
        alarms += found.regressed
    assert alarms <= 5


def test_results_compare_by_their_ratio_to_mlx_where_the_latest_has_one() -> None:
    slow_machine = [entry(2, 1300, ratio=2.0), entry(1, 1000, ratio=2.0)]
    (found,) = group_histories(slow_machine)
    assert found.by_reference
    assert not found.regressed
    (other,) = group_histories([slow_machine[0], replace(slow_machine[1], mlx="0.29")])
    assert len(other.timed) == 1


def test_other_conditions_are_another_past() -> None:
    base = entry(1, 1000)
    entries = [
        base,
        replace(base, mode="cold"),
        replace(base, engine="vectors"),
        replace(base, device_name="Other CPU"),
        replace(base, sizes={"n": 1}),
        replace(base, dtype="float16"),
    ]
    assert len(list(group_histories(entries))) == 6


def test_incorrect_past_runs_are_shown_without_a_time() -> None:
    wrong = replace(entry(3, 1), status="incorrect", kernel_ns=None, verdict=None)
    (found,) = group_histories([wrong, entry(2, 900), entry(1, 1000)])
    assert found.latest is not None
    assert found.latest.id == 2
    text = printed(found)
    assert "▁█!" in text
    assert "incorrect" in text


def printed(found: TaskHistory) -> str:
    console = Console(file=io.StringIO(), width=PIPE_WIDTH, highlight=False)
    console.print(history_report(found, console))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_report_shows_course_latest_best_and_regression() -> None:
    text = printed(past(1000, 800, 900, 1000))
    for part in (
        "cpu (Example CPU)  seed (n 4096), float32, warm",
        "speed, the latest last",
        "latest    1.000 us",
        "best      800",
        "run:2, source 00000000, revision 1a2b3c4d)",
        "latest against previous: 0.90x",
        "latest against best: 0.80x",
        "the deviation between runs of the same source: 1.0 % is assumed, because few runs are",
        "SLOWER",
        "A regression",
    ):
        assert part in text
    assert "uncommitted changes" not in text


def test_the_report_explains_the_mark_of_uncommitted_changes() -> None:
    found = past(1000, 800)
    latest = replace(found.entries[0], revision=f"{found.entries[0].revision}-dirty")
    text = printed(replace(found, entries=(latest, *found.entries[1:])))
    assert "revision 1a2b3c4d" in text
    assert "+: the revision with uncommitted changes." in text


def test_json_has_the_documented_keys() -> None:
    document = json.loads(history.history_json("softmax", [past(1000, 800, 900)]))
    (found,) = document["pasts"]
    assert (found["latest"], found["best"], found["regressed"]) == (3, 2, True)
    assert history.__doc__ is not None
    for name in (*document, *found, *found["results"][0]):
        assert name in history.__doc__


def test_revision_text_is_short_and_marks_changes() -> None:
    assert revision_text(None) == "-"
    assert revision_text(REVISION) == "1a2b3c4d"
    assert revision_text(f"v1.0-3-g{REVISION}-dirty") == "v1.0-3-g1a2b3c4d+"


def show_overview(found: list[HistoryEntry], width: int) -> list[str]:
    """Return the lines of the overview of one task's results, the latest first."""
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, force_terminal=True, no_color=True)
    console.print(history.overview({"softmax": list(group_histories(found))}, console))
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in file.getvalue().splitlines()]


def test_the_overview_fits_narrow_terminals_without_losing_text() -> None:
    swept = [
        replace(entry(10 + cols, 900), size=f"rows=1024,cols={cols}", sizes={"cols": cols})
        for cols in (256, 512)
    ]
    every = [entry(3, 800, ratio=2.0), entry(2, 900, ratio=1.9), *swept]
    wide, narrow = show_overview(every, 160), show_overview(every, 80)
    assert max(map(len, narrow)) <= 80
    for lines in (wide, narrow):
        text = " ".join(" ".join(lines).split())
        assert "cpu (Example CPU), float32" in text
        assert "…" not in text
        for part in ("cols=256", "cols=512", "800 ns", "2.000x", "1.05x", "FASTER"):
            assert part in text, part
        for part in ("[797, 803]", "[1.992, 2.008]"):
            assert any(part in line for line in lines), part
    assert any("results" in line for line in wide)
    assert not any("results" in line for line in narrow)
    assert any(line.startswith("rows=1024,") for line in narrow)


def test_the_overview_leaves_out_failures_that_are_repaired() -> None:
    failed = replace(entry(2, 1), status="failed", kernel_ns=None, verdict=None, size="", sizes={})
    before, after = entry(1, 1000), entry(3, 900)
    assert "failed in run:2" in " ".join(show_overview([failed, before], 120))
    assert "failed" not in " ".join(show_overview([after, failed, before], 120))
