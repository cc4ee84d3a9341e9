"""Files of others' kernels: all comes back, and nothing but what was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_results import correct
from msgspec import structs
from mutations import mutations

from metalbench import _core
from metalbench.compare.certificate import (
    MOST_BYTES,
    ExportedRecord,
    ReproductionVerdict,
    build_trial,
    export_result,
    judge_claim,
    list_obstacles,
    read_exported,
    reproduce,
)
from metalbench.errors import DeclarationError
from metalbench.run.trial import Silent, Trial, describe_case, device_facts
from metalbench.stats import Interval
from metalbench.store.environment import environment
from metalbench.store.history import HistoryEntry
from metalbench.store.store import Store

from .conftest import KERNEL, QUICK

MakeTrial = Callable[..., Trial]


@pytest.fixture
def device() -> _core.Device:
    return _core.open("cpu")


@pytest.fixture
def made(device: _core.Device, store: Store, trial: MakeTrial) -> ExportedRecord:
    """A result of the kernel that was never measured."""
    one = trial(4)
    result = replace(correct(), case=describe_case(one, one.entry.task, device))
    run = store.begin_run({}, device_facts(device), environment())
    return export_result(store, store.record(run, result), one.kernel.text, one.kernel.source)


def test_any_mutation_of_a_record_is_refused_with_its_name(
    made: ExportedRecord, tmp_path: Path
) -> None:
    file = tmp_path / "a.json"
    for _, text in mutations(json.loads(made.text), 300, seed=7):
        file.write_text(text)
        if json.loads(made.text) == _parsed(text):
            continue
        with pytest.raises(DeclarationError, match=r"a\.json: expected a file of"):
            read_exported(file)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def written(path: Path, made: ExportedRecord, **changes: Any) -> Path:
    """A file that somebody has changed, and signed again."""
    changed = structs.replace(made, **changes)
    path.write_text(structs.replace(changed, sha256=changed.digest).text)
    return path


def test_read_exported_round_trips_the_file(made: ExportedRecord, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(made.text)
    assert read_exported(file) == made
    measured = correct().measurement
    assert measured is not None
    assert made.samples["kernel"] == tuple(measured.samples.candidate_ns)
    assert made.machine.versions == environment().versions
    assert (made.task, made.size, made.sizes) == ("doubled", "seed", {"n": 2048})
    # Its own header lines, and none of the header that it includes.
    assert made.header.count("// dispatch:") == 1
    assert made.source.count("// dispatch:") == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task": "../relu"}, "at `$.task`"),
        ({"task": "__import__('os')"}, "at `$.task`"),
        ({"kernel": "../../x.metal"}, "at `$.kernel`"),
        ({"kernel": "x.py"}, "at `$.kernel`"),
        ({"kernel": "x.metal\n"}, "at `$.kernel`"),
        ({"sizes": {}}, "Expected `object` of length >= 1 - at `$.sizes`"),
        ({"sizes": {"n": 0}}, "Expected `int` >= 1 - at `$.sizes[...]`"),
        ({"sizes": {"n": -(2**70)}}, "at `$.sizes[...]`"),
        ({"sizes": {"n": 2**40}}, "at `$.sizes[...]`"),
        ({"tunables": {"WORK": 2**31}}, "at `$.tunables[...]`"),
        ({"header": "// another\n"}, "header: expected the comments"),
        ({"source_sha256": "00" * 32}, "source_sha256: the source is another one"),
        ({"samples": {}}, "samples: expected times above 0"),
        ({"samples": {"kernel": (1.0, None)}}, "samples: expected times above 0"),
        ({"samples": {"kernel": (1.0, -1.0)}}, "samples: expected times above 0"),
        ({"samples": {"kernel": (1.0,), "reference": (1.0, 2.0)}}, "samples: expected as many"),
        ({"mode": "cold"}, "at `$.mode`"),
    ],
)
def test_read_exported_refuses_a_signed_file_with_impossible_values(
    made: ExportedRecord, tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(DeclarationError, match=r"a\.json: expected a file of `metalbench") as told:
        read_exported(written(tmp_path / "a.json", made, **changes))
    assert says in str(told.value)


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        "#  include </etc/passwd>",
        "#include <metal/../../x>",
        '#include_next "x.h"',
        '#import "x.h"',
        '#embed "/etc/passwd"',
    ],
)
def test_a_source_reads_no_file_of_the_readers(
    made: ExportedRecord, tmp_path: Path, line: str
) -> None:
    import hashlib

    source = f"{made.source}\n{line}\n"
    digest = hashlib.sha256(source.encode()).hexdigest()
    file = written(tmp_path / "a.json", made, source=source, source_sha256=digest)
    with pytest.raises(DeclarationError, match="source: expected no #include but of Metal's"):
        read_exported(file)


def plain(made: ExportedRecord) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made.text)
    return found


def without(made: ExportedRecord) -> str:
    return json.dumps({name: each for name, each in plain(made).items() if name != "verdict"})


def with_nan(made: ExportedRecord) -> str:
    return json.dumps(plain(made) | {"kernel_ns": {"value": float("nan"), "low": 1, "high": 2}})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (lambda _: "", "truncated"),
        (lambda _: "[]", "Expected `object`, got `array`"),
        (lambda _: "[" * 100_000, "levels of nesting"),
        (
            lambda made: json.dumps(plain(made) | {"schema": 2}),
            "Invalid enum value 2 - at `$.schema`",
        ),
        (without, "missing required field `verdict`"),
        (lambda made: json.dumps(plain(made) | {"run": "rm"}), "contains unknown field `run`"),
        (
            lambda made: json.dumps(plain(made) | {"sizes": {"n": "1"}}),
            "Expected `int`, got `str` - at `$.sizes[...]`",
        ),
        (
            lambda made: json.dumps(plain(made) | {"sizes": {"n": True}}),
            "Expected `int`, got `bool`",
        ),
        (
            lambda made: json.dumps(plain(made) | {"source": ["x"]}),
            "Expected `str`, got `array` - at `$.source`",
        ),
        (with_nan, "JSON is malformed: invalid character"),
        (
            lambda made: made.text.replace('"verdict": "FASTER"', '"verdict": "SLOWER"'),
            "sha256: the file was changed after it was written",
        ),
    ],
)
def test_read_exported_refuses_other_files(
    made: ExportedRecord, tmp_path: Path, text: Callable[[ExportedRecord], str], says: str
) -> None:
    file = tmp_path / "a.json"
    file.write_text(text(made))
    with pytest.raises(DeclarationError, match=r"a\.json: expected a file of") as told:
        read_exported(file)
    assert says in str(told.value)


def test_read_exported_limits_the_size(made: ExportedRecord, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(made.text + " " * MOST_BYTES)
    with pytest.raises(DeclarationError, match=r"a\.json: expected at most 16 MiB of JSON"):
        read_exported(file)


def test_intervals_have_their_value_within(made: ExportedRecord, tmp_path: Path) -> None:
    upside_down = structs.replace(made.kernel_ns, low=made.kernel_ns.value * 2)
    with pytest.raises(DeclarationError, match="kernel_ns: expected low <= value <= high"):
        read_exported(written(tmp_path / "a.json", made, kernel_ns=upside_down))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "metal", "name": "Apple M4"}, "another device: metal Apple M4 there, cpu"),
        ({"engine": "lanes"}, "another engine: lanes there"),
        ({"mlx": "0.1"}, "another version of MLX: 0.1 there"),
        ({"cores": 999}, "another number of cores: 999 there"),
        ({"chip": "m9"}, "another chip: m9 there, None here"),
    ],
)
def test_other_machines_do_not_compare(
    device: _core.Device, made: ExportedRecord, trial: MakeTrial, change: dict[str, Any], says: str
) -> None:
    entry, here = trial().entry, environment()
    assert list(list_obstacles(made, device, here, entry)) == []
    moved = structs.replace(made, machine=structs.replace(made.machine, **change))
    (why,) = list_obstacles(moved, device, here, entry)
    assert says in why


def test_other_tasks_do_not_compare(
    device: _core.Device, made: ExportedRecord, trial: MakeTrial
) -> None:
    entry, here = trial().entry, environment()
    (why,) = list_obstacles(structs.replace(made, sizes={"n": 7}), device, here, entry)
    assert why == "another task: seed is {'n': 7} there, {'n': 2048} here"
    (why,) = list_obstacles(structs.replace(made, size="huge"), device, here, entry)
    assert why.startswith("another task: [doubled] unknown size 'huge'")
    (why,) = list_obstacles(made, device, here, None)
    assert "--kernels" in why


def entry_with(ratio: Interval | None, time_ns: float = 12_340.0) -> HistoryEntry:
    base: dict[str, Any] = dict.fromkeys(HistoryEntry.__slots__)
    time = Interval(time_ns, time_ns * 0.99, time_ns * 1.01)
    return HistoryEntry(**base | {"status": "correct", "ratio": ratio, "kernel_ns": time})


@pytest.mark.parametrize(
    ("here", "word", "why"),
    [
        (Interval(2.0, 1.98, 2.02), ReproductionVerdict.REPRODUCED, "no more than 10% behind"),
        (Interval(3.0, 2.9, 3.1), ReproductionVerdict.REPRODUCED, "no more than 10% behind"),
        (Interval(1.85, 1.83, 1.87), ReproductionVerdict.NOT_REPRODUCED, "does not exclude"),
        (
            Interval(1.5, 1.48, 1.52),
            ReproductionVerdict.NOT_REPRODUCED,
            "more than 10% behind the claim",
        ),
        (Interval(2.0, 1.4, 2.6), ReproductionVerdict.NOT_REPRODUCED, "does not exclude"),
        (
            Interval(2.0, float("-inf"), float("inf")),
            ReproductionVerdict.NOT_REPRODUCED,
            "does not exclude",
        ),
    ],
)
def test_judge_claim_requires_the_whole_interval(
    made: ExportedRecord, here: Interval, word: ReproductionVerdict, why: str
) -> None:
    said = judge_claim(made, entry_with(here), 0.1)
    assert said.word is word, said
    assert why in said.why


def test_without_mlx_times_of_the_same_clock_are_compared(made: ExportedRecord) -> None:
    alone = structs.replace(made, ratio=None)
    assert judge_claim(alone, entry_with(None), 0.1).word is ReproductionVerdict.REPRODUCED
    assert judge_claim(alone, entry_with(None), 0.1).by_time
    assert (
        judge_claim(alone, entry_with(None, 20_000.0), 0.1).word
        is ReproductionVerdict.NOT_REPRODUCED
    )
    assert judge_claim(alone, entry_with(None, 6_000.0), 0.1).word is ReproductionVerdict.REPRODUCED
    other = structs.replace(made, clock="GPU time")
    assert (
        judge_claim(other, entry_with(made.ratio.interval), 0.1).word
        is ReproductionVerdict.NOT_COMPARABLE
    )  # type: ignore[union-attr]


def test_a_wrong_kernel_is_not_reproduced(
    device: _core.Device, store: Store, trial: MakeTrial, made: ExportedRecord
) -> None:
    entry = trial().entry
    wrong = KERNEL.replace("double_of(x[i])", "3 * x[i]").replace("WORK = 400, 4", "WORK = 4")
    bad = structs.replace(made, source=trial(4, wrong).kernel.text)
    said = reproduce(device, store, bad, build_trial(bad, entry, QUICK), observer=Silent())
    assert said.word is ReproductionVerdict.NOT_REPRODUCED
    assert "here the kernel is incorrect: [doubled] y: expected" in said.why
    assert store.results(store.runs(1)[0])[0].status == "incorrect"


def test_reproduce_runs_the_source_of_the_file(
    device: _core.Device, store: Store, trial: MakeTrial, made: ExportedRecord
) -> None:
    ready = build_trial(made, trial().entry, QUICK)
    assert ready.kernel.hash == made.source_sha256
    assert ready.kernel.dispatches[0].function == "twice"
    said = reproduce(device, store, made, ready, observer=Silent(), within=0.1)
    assert said.here is not None
    assert said.word in (ReproductionVerdict.REPRODUCED, ReproductionVerdict.NOT_REPRODUCED)
    assert store.results(store.runs(1)[0])[0].source_hash == made.source_sha256
