"""Records: of each place the latest counts, and the ones before stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from example_results import CPU, GPU, correct, on_gpu

from metalbench.errors import StoreError
from metalbench.stats import Interval
from metalbench.store.environment import environment
from metalbench.store.records import AUTHOR_VARIABLE, RecordClaim, RecordPlace, find_author
from metalbench.store.result import DeviceFacts, Result
from metalbench.store.store import Store

GAINS = (Interval(1.5, 1.4, 1.6), Interval(1.4, 1.3, 1.5))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.db") as opened:
        yield opened


def kept(store: Store, result: Result, device: DeviceFacts = CPU, engine: str = "fibers") -> int:
    here = replace(environment(), engine=engine)
    return store.record(store.begin_run({}, device, here), result)


def claim(result: int, over: int | None = None, gains: tuple[Interval, ...] = ()) -> RecordClaim:
    return RecordClaim(result, "// dispatch: softmax\n", "test", over, gains)


def test_a_record_round_trips_with_its_result(store: Store) -> None:
    result = correct()
    number = kept(store, result)
    place = store.place_of(number)
    assert place == RecordPlace(
        *("cpu", "Example CPU", None, 2, "fibers"),
        *("softmax", "float32", "seed", (("cols", 1024), ("rows", 1024))),
    )
    assert store.record_at(place) is None
    assert store.keep_record(place, claim(number))
    record = store.record_at(place)
    assert record is not None
    assert result.measurement is not None
    assert result.analysis is not None
    assert record.entry.kernel_ns == result.measurement.candidate_ns
    assert (record.source, record.header) == (result.case.source, "// dispatch: softmax\n")
    assert record.gflops == result.analysis.work.gflops.value
    assert record.environment == environment().as_dict() | {"engine": "fibers"}
    assert (record.over, record.gains, record.origin) == (None, (), "test")


def test_a_later_record_takes_the_place_and_the_one_before_stays(store: Store) -> None:
    one, two = kept(store, correct()), kept(store, correct(seed=1))
    place = store.place_of(one)
    store.keep_record(place, claim(one))
    first = store.record_at(place)
    assert first is not None
    assert store.keep_record(place, claim(two, first.number, GAINS))
    assert [record.entry.id for record in store.records_of(place)] == [two, one]
    (record,) = store.records()
    assert (record.entry.id, record.over, record.gains) == (two, first.number, GAINS)


def test_keep_record_refuses_a_claim_over_an_old_record(store: Store) -> None:
    numbers = [kept(store, correct(seed=seed)) for seed in range(3)]
    place = store.place_of(numbers[0])
    assert store.keep_record(place, claim(numbers[0]))
    # Two that began when there was none, or the first was the record.
    assert not store.keep_record(place, claim(numbers[1]))
    first = store.record_at(place)
    assert first is not None
    assert store.keep_record(place, claim(numbers[1], first.number, GAINS))
    assert not store.keep_record(place, claim(numbers[2], first.number, GAINS))
    assert [record.entry.id for record in store.records()] == [numbers[1]]


def test_devices_engines_types_and_extents_have_records_of_their_own(store: Store) -> None:
    plain = correct()
    half = replace(plain, case=replace(plain.case, dtype="float16"))
    resized = replace(plain, case=replace(plain.case, sizes={"rows": 8, "cols": 1024}))
    other = replace(GPU, cores=8)
    numbers = [
        kept(store, plain),
        kept(store, plain, engine="vectors"),
        kept(store, half),
        kept(store, resized),
        kept(store, on_gpu(plain), GPU),
        kept(store, on_gpu(plain), other),
    ]
    for number in numbers:
        assert store.keep_record(store.place_of(number), claim(number))
    assert {record.entry.id for record in store.records()} == set(numbers)
    assert store.place_of(numbers[4]).engine == ""
    assert store.place_of(numbers[4]).device_chip == "m4"


def test_no_result_has_no_place(store: Store) -> None:
    with pytest.raises(StoreError, match="result 7 does not exist"):
        store.place_of(7)
    with pytest.raises(StoreError, match="result 7 does not exist"):
        store.result(7)


def test_the_author_is_given_by_a_variable_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(AUTHOR_VARIABLE, raising=False)
    assert find_author() == ""
    monkeypatch.setenv(AUTHOR_VARIABLE, "  Ada Lovelace ")
    assert find_author() == "Ada Lovelace"
    monkeypatch.setenv(AUTHOR_VARIABLE, "a" * 1000)
    assert len(find_author()) == 100
