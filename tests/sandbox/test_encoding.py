"""Values come back as they were, by their declared types; whatever else comes is an error."""

from __future__ import annotations

import collections.abc
import contextlib
import json
import pickle
import typing
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from example_results import correct, failed, incorrect, on_gpu, without_interval
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from metalbench.errors import EncodingError
from metalbench.kernel.library import Library
from metalbench.run.trial import Trial
from metalbench.sandbox.encoding import LENGTH_BYTES, decode, encode
from metalbench.stats import BlockRange
from metalbench.store.result import Result, Status
from metalbench.workers.channel import list_run_messages, list_worker_messages

TEXT = st.text(max_size=8)


PLAIN_VALUES = {
    type(None): st.none(),
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(),
    str: TEXT,
    Path: TEXT.map(Path),
}


def values_of(declared: Any) -> st.SearchStrategy[Any]:
    """Values of a declared type, whatever it is made of."""
    if typing.get_origin(declared) is not None:
        return compounds_of(typing.get_origin(declared), typing.get_args(declared))
    if declared in PLAIN_VALUES:
        return PLAIN_VALUES[declared]
    return st.sampled_from(declared) if issubclass(declared, Enum) else records_of(declared)


def compounds_of(origin: Any, parts: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    def several() -> st.SearchStrategy[Any]:
        return st.lists(values_of(parts[0]), max_size=2)

    made = {
        list: several,
        tuple: lambda: several().map(tuple),
        collections.abc.Sequence: lambda: several().map(tuple),
        collections.abc.Mapping: lambda: st.dictionaries(TEXT, values_of(parts[1]), max_size=2),
        np.ndarray: lambda: arrays.arrays(typing.get_args(parts[1])[0], st.integers(0, 3)),
        Literal: lambda: st.sampled_from(parts),
    }
    if origin is tuple and parts[-1] is not Ellipsis:
        return st.tuples(*map(values_of, parts))
    return made[origin]() if origin in made else st.one_of(*map(values_of, parts))


@cache
def records_of(declared: Any) -> st.SearchStrategy[Any]:
    """Return dataclasses, which may have fields of their own type."""

    def records() -> st.SearchStrategy[Any]:
        hints = typing.get_type_hints(declared)
        each = {field.name: values_of(hints[field.name]) for field in fields(declared)}
        return st.builds(declared, **each)

    return st.deferred(records)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are of one type and have the same bits, part for part."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and bits(one) == bits(other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other) or repr(one) == repr(other) == "nan"


def bits(array: np.ndarray[Any, Any]) -> bytes:
    return array.tobytes()


@pytest.mark.parametrize(
    "declared", dict.fromkeys([*list_worker_messages().values(), *list_run_messages().values()])
)
def test_every_message_round_trips(declared: type) -> None:
    @settings(max_examples=25, deadline=None, database=None)
    @given(values_of(declared))
    def check(value: object) -> None:
        assert same(decode(encode(value, declared), declared), value)

    check()


def judged_by_blocks(result: Result) -> Result:
    measured = result.measurement
    assert measured is not None
    assert measured.judgement is not None
    judgement = replace(measured.judgement, blocks=BlockRange(2.0, 1.9, 2.2))
    return replace(result, measurement=replace(measured, judgement=judgement))


@pytest.mark.parametrize(
    "result",
    [
        correct(),
        incorrect(),
        failed(),
        on_gpu(correct()),
        on_gpu(correct(), reference_timed=True),
        without_interval(correct()),
        judged_by_blocks(correct()),
        replace(correct(), notes=("über \N{SNOWMAN}\0\ud800",)),
    ],
    ids=lambda result: f"{result.status.value} {result.device.kind}",
)
def test_encode_and_decode_round_trip_results(result: Result) -> None:
    assert same(decode(encode(result, Result), Result), result)


def test_decoded_arrays_are_writable() -> None:
    got = decode(encode(np.ones(3), NDArray[np.float64]), NDArray[np.float64])
    got[0] = 2
    assert list(got) == [2, 1, 1]


def test_a_library_kernel_round_trips() -> None:
    entry = Library().entry("softmax")
    trial = Trial(entry, entry.kernel(), "float32", tunables={"TG": 128})
    assert entry.task.name == "softmax"  # loaded: this stays on its side
    got = decode(encode(trial, Trial), Trial)
    assert got == trial
    assert "task" not in vars(got.entry)


def test_numbers_of_numpy_are_numbers() -> None:
    given = (np.int64(3), np.float32(0.5), np.bool_(True), np.int32(2))
    declared = tuple[int, float, bool, float]
    got = decode(encode(given, declared), declared)
    assert same(got, (3, 0.5, True, 2.0))


@dataclass(frozen=True)
class Point:
    x: float
    name: str = ""


class Colour(str, Enum):
    RED = "red"


@dataclass(frozen=True)
class Shapes:
    points: tuple[Point, ...]
    colour: Colour
    side: Literal["left", "right"]
    size: tuple[int, int]
    times: NDArray[np.float64]
    facts: typing.Mapping[str, bool | int | float | str | list[str]]
    status: Status | None = None


SHAPES = Shapes((Point(1.5, "a"),), Colour.RED, "left", (1, 2), np.arange(3.0), {"a": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(points=Point(1.0)), "shapes.points: expected tuple"),
        (dict(points=(Point("1"),)), "shapes.points[0].x: expected float, got str '1'"),
        (dict(points=(1.0,)), "shapes.points[0]: expected Point, got float 1.0"),
        (dict(colour="red"), "shapes.colour: expected Colour, got str 'red'"),
        (dict(side="up"), "shapes.side: expected "),
        (dict(size=(1, 2, 3)), "shapes.size: expected tuple[int, int], got tuple (1, 2, 3)"),
        (dict(size=(1, True)), "shapes.size[1]: expected int, got bool True"),
        (dict(times=np.arange(3)), "shapes.times: expected an array of float64"),
        (dict(facts={"a": None}), "shapes.facts['a']: expected bool or int or float or str or"),
        (dict(facts={1: 1}), "shapes.facts: expected names with"),
        (dict(status=Colour.RED), "shapes.status: expected Status or NoneType"),
    ],
)
def test_encode_refuses_values_of_other_types(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodingError) as caught:
        encode(replace(SHAPES, **change), Shapes, "shapes")
    assert message in str(caught.value)


def framed(plain: object, rest: bytes = b"") -> bytes:
    text = json.dumps(plain).encode()
    return len(text).to_bytes(LENGTH_BYTES, "little") + text + rest


PLAIN = {
    "points": [{"x": 1.5, "name": "a"}],
    "colour": "red",
    "side": "left",
    "size": [1, 2],
    "times": [3],
    "facts": {"a": 1},
    "status": None,
}
BITS = np.arange(3.0).tobytes()


def test_the_form_of_a_message() -> None:
    assert encode(SHAPES, Shapes) == framed(PLAIN, BITS)
    assert same(decode(framed(PLAIN, BITS), Shapes), SHAPES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(points="a"), "shapes.points: expected tuple"),
        (dict(points=[{"x": 1.0}]), "shapes.points[0]: expected Point, but str 'name' is missing"),
        (dict(points=[{"x": 1.0, "name": "", "y": 2}]), "str 'y' is not one of its fields"),
        (dict(points=[{"x": True, "name": ""}]), "shapes.points[0].x: expected float, got bool"),
        (dict(points=[{"x": 10**400, "name": ""}]), "too large"),
        (dict(colour="blue"), "shapes.colour: expected Colour, got str 'blue'"),
        (dict(colour=["red"]), "shapes.colour: expected Colour, got list"),
        (dict(side=1), "shapes.side: expected"),
        (dict(size=[1]), "shapes.size: expected tuple[int, int], got list [1]"),
        (dict(size=[1, 2.0]), "shapes.size[1]: expected int, got float 2.0"),
        (dict(times="float64"), "shapes.times: expected an array of float64, got str"),
        (dict(times=[-1]), "shapes.times: expected an array of float64, got list [-1]"),
        (dict(times=[4]), "shapes.times: expected 32 more bytes, got 24"),
        (dict(times=[2**62, 2**62]), "more bytes, got 24"),
        (dict(times=[0, 10**30]), "shapes: "),
        (dict(times=[2]), "shapes: expected its end, got 8 more bytes"),
        (dict(facts=[1]), "shapes.facts: expected names with"),
        (dict(facts={"a": ["b", 1]}), "shapes.facts['a'][1]: expected str, got int 1"),
        (dict(status="right"), "shapes.status: expected Status or NoneType, got str 'right'"),
    ],
)
def test_decode_refuses_values_of_other_types(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodingError) as caught:
        decode(framed({**PLAIN, **change}, BITS), Shapes, "shapes")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * LENGTH_BYTES,
        b"\xff" * 20,
        framed(None)[:-1],
        (4).to_bytes(LENGTH_BYTES, "little") + b"nil.",
        (4).to_bytes(LENGTH_BYTES, "little") + b'"\xc3\xa4"',
        (10**5).to_bytes(LENGTH_BYTES, "little") + b"[" * 10**5,
        pickle.dumps(SHAPES.points),
    ],
    ids=["nothing", "no text", "too long", "cut", "no JSON", "not ASCII", "deep", "a pickle"],
)
def test_decode_refuses_bytes_that_are_not_a_message(data: bytes) -> None:
    with pytest.raises(EncodingError, match=r"^value: expected "):
        decode(data, type(None))


def test_a_truth_value_has_no_other_bits() -> None:
    with pytest.raises(EncodingError, match="expected bytes of 0 and 1"):
        decode(framed([2], b"\1\2"), NDArray[np.bool_])


def test_encode_refuses_unsafe_types() -> None:
    for declared in (NDArray[np.object_], object, Any, dict[int, int], typing.Callable[[], None]):
        with pytest.raises(TypeError):
            encode(None, declared)


@settings(max_examples=300, deadline=None, database=None)
@given(st.data())
def test_damaged_results_are_results_or_errors(data: st.DataObject) -> None:
    whole = bytearray(encode(on_gpu(correct()), Result))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)) | st.just(len(whole)))
    with contextlib.suppress(EncodingError):
        assert type(decode(bytes(whole[:cut]), Result)) is Result
