"""Comparisons and text of a certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_results import measurement
from scripted_gpu import ScriptedGpu

from metalbench.compare import Decision, certificate, leaderboard
from metalbench.compare.certificate import Certificate, certify, read_exported
from metalbench.kernel.header import parse
from metalbench.kernel.library import Library
from metalbench.report.leaderboard import certificate_to_markdown
from metalbench.run.trial import Silent, Trial
from metalbench.stats import Verdict
from metalbench.store.store import Store

from .conftest import KERNEL, QUICK

MakeTrial = Callable[..., Trial]


@pytest.fixture
def contests(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every pairing there was; each says FASTER."""
    seen: list[Any] = []

    def heard(_: Any, contest: Any, *__: Any) -> Any:
        seen.append(contest)
        return None, replace(measurement(reference=1.3), verdict=Verdict.FASTER)

    monkeypatch.setattr(leaderboard, "head_to_head", heard)
    return seen


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """A library whose own version of the kernel lies in the folder."""
    monkeypatch.setattr(certificate, "Library", lambda: Library([folder]))
    return


def certified(store: Store, trial: Trial) -> Certificate:
    return certify(ScriptedGpu(), store, trial, observer=Silent(), plan=QUICK)  # type: ignore[arg-type]


def test_certify_without_a_record_compares_with_the_library(
    store: Store, trial: MakeTrial, contests: list[Any], library: None, tmp_path: Path
) -> None:
    made = certified(store, trial(4))
    assert made.ruling.decision is Decision.FIRST
    assert (made.against, made.verdict) == ("the library's own version", Verdict.FASTER)
    assert [each.before.tunables["WORK"] for each in contests] == [(400, 4)] * 2
    file = tmp_path / "a.json"
    assert made.record is not None
    file.write_text(made.record.text)
    assert read_exported(file) == made.record
    text = certificate_to_markdown([made], {made.entry.id: "a.json"})
    assert text.startswith("### doubled (seed): FASTER against the library's own version, 1.3")
    for part in (
        f"SHA-256 `{trial(4).kernel.hash}`",
        "| time | 100 us [100, 100] |",
        "| device | metal (Apple M4, m4, 10 cores) |",
        f"`a.json`, SHA-256 `{made.record.sha256}`",
        "metalbench reproduce a.json",
        "mlx ",
    ):
        assert part in text
    assert "simulation" not in text


def test_the_librarys_own_version_is_not_compared(
    store: Store, trial: MakeTrial, contests: list[Any], library: None
) -> None:
    own = trial(400, KERNEL.replace("// tune: WORK = 400, 4", "// tune: WORK = 400, 4"))
    own = replace(own, kernel=parse(KERNEL, name="doubled", path=own.kernel.path))
    made = certified(store, own)
    assert (made.against, made.verdict, contests) == ("", None, [])
    assert certificate_to_markdown([made], {}).startswith(
        "### doubled (seed): correct, first record"
    )


def test_certify_compares_with_the_record(
    store: Store, trial: MakeTrial, contests: list[Any], library: None
) -> None:
    certified(store, trial(5))
    contests.clear()
    made = certified(store, trial(4))
    assert made.ruling.decision is Decision.NEW
    assert (made.against, made.verdict) == ("the record", Verdict.FASTER)
    assert [each.before.tunables["WORK"][0] for each in contests] == [5, 5]
    (record,) = store.records()
    assert (record.entry.id, record.origin) == (made.entry.id, "certify")


def test_a_wrong_kernel_gets_no_file(
    store: Store, trial: MakeTrial, contests: list[Any], library: None
) -> None:
    made = certified(store, trial(4, KERNEL.replace("double_of(x[i])", "3 * x[i]")))
    assert (made.is_correct, made.record, contests) == (False, None, [])
    text = certificate_to_markdown([made], {})
    assert text.startswith("### doubled (seed): incorrect")
    assert "reproduce" not in text
