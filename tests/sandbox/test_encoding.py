"""Values come back as they were, by their declared types; whatever else comes is an error."""

from __future__ import annotations

import collections.abc
import contextlib
import pickle
import tracemalloc
import typing
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from example_results import correct, failed, incorrect, on_gpu, without_interval
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from msgspec import msgpack
from numpy.typing import NDArray

from metalbench.errors import EncodingError
from metalbench.kernel.library import Library
from metalbench.kernelbench.candidates.messages import (
    CallLayout,
    CandidateError,
    CandidateStart,
    Launch,
    SealReport,
)
from metalbench.run.trial import Trial
from metalbench.sandbox.encoding import decode, encode
from metalbench.stats import BlockRange
from metalbench.store.result import Result, Status
from metalbench.workers.channel import list_run_messages, list_worker_messages
from metalbench.workers.remote_protocol import list_client_messages, list_server_messages

TEXT = st.text(max_size=8)


PLAIN_VALUES = {
    type(None): st.none(),
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**64 - 1),
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
        replace(correct(), notes=("über \N{SNOWMAN}\0",)),
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
        (dict(points=Point(1.0)), "Expected `array`, got `object` - at `$.points`"),
        (dict(points=(Point("1"),)), "Expected `float`, got `str` - at `$.points[0].x`"),
        (dict(points=(1.0,)), "Expected `object`, got `float` - at `$.points[0]`"),
        (dict(colour="blue"), "Invalid enum value 'blue' - at `$.colour`"),
        (dict(side="up"), "Invalid enum value 'up' - at `$.side`"),
        (dict(size=(1, 2, 3)), "Expected `array` of length 2, got 3 - at `$.size`"),
        (dict(size=(1, True)), "Expected `int`, got `bool` - at `$.size[1]`"),
        (dict(size=(1, 2**64)), "can't serialize ints"),
        (dict(times=np.arange(3)), "Expected an array of <f8, got one of '<i8' - at `$.times`"),
        (dict(times=np.arange(3, dtype=np.float32)), "values of type ndarray cannot be encoded"),
        (dict(facts={"a": None}), "got `None` - at `$.facts[...]`"),
        (dict(facts={1: 1}), "Expected `str`, got `int` - at `key` in `$.facts`"),
        (dict(facts={"a": open}), "values of type builtin_function_or_method cannot be encoded"),
        (dict(status=Colour.RED), "Invalid enum value 'red' - at `$.status`"),
    ],
)
def test_encode_refuses_values_of_other_types(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodingError) as caught:
        encode(replace(SHAPES, **change), Shapes, "shapes")
    assert str(caught.value).startswith("shapes: ")
    assert message in str(caught.value)


def test_encode_escapes_lone_surrogates() -> None:
    declared = dict[str, tuple[str, bytes, Path]]
    value = {"\udfff": ("x\ud800", b"\xff", Path("a\udcff"))}
    expected = {r"\udfff": (r"x\ud800", b"\xff", Path("a\udcff"))}
    assert decode(encode(value, declared), declared) == expected


PLAIN = {
    "points": [{"x": 1.5, "name": "a"}],
    "colour": "red",
    "side": "left",
    "size": [1, 2],
    "times": ["<f8", [3], np.arange(3.0).tobytes()],
    "facts": {"a": 1},
    "status": None,
}


def test_the_form_of_a_message() -> None:
    assert encode(SHAPES, Shapes) == msgpack.encode(PLAIN)
    assert same(decode(msgpack.encode(PLAIN), Shapes), SHAPES)


BITS = bytes(24)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(points="a"), "Expected `array`, got `str` - at `$.points`"),
        (dict(points=[{"name": ""}]), "missing required field `x` - at `$.points[0]`"),
        (dict(points=[{"x": True}]), "Expected `float`, got `bool` - at `$.points[0].x`"),
        (dict(colour="blue"), "Invalid enum value 'blue' - at `$.colour`"),
        (dict(colour=["red"]), "Expected `str`, got `array` - at `$.colour`"),
        (dict(side=1), "at `$.side`"),
        (dict(side="\x1b[31m\n" * 1000), "at `$.side`"),
        (dict(size=[1]), "Expected `array` of length 2, got 1 - at `$.size`"),
        (dict(size=[1, 2.0]), "Expected `int`, got `float` - at `$.size[1]`"),
        (dict(times="<f8"), "Expected `array`, got `str` - at `$.times`"),
        (dict(times=["<f8", [3]]), "Expected `array` of length 3, got 2 - at `$.times`"),
        (dict(times=["<i8", [3], BITS]), "got one of '<i8' - at `$.times`"),
        (dict(times=["|O", [3], BITS]), "got one of '|O' - at `$.times`"),
        (dict(times=["<f8", [-3], BITS]), "Expected `int` >= 0 - at `$[1][0]` - at `$.times`"),
        (dict(times=["<f8", [True], BITS]), "Expected `int`, got `bool`"),
        (dict(times=["<f8", [4], BITS]), "of shape (4,), got 24 bytes - at `$.times`"),
        (dict(times=["<f8", [2], BITS]), "of shape (2,), got 24 bytes - at `$.times`"),
        (dict(times=["<f8", [2**62, 2**62], BITS]), "got 24 bytes - at `$.times`"),
        (dict(times=["<f8", [0, 2**64 - 1], b""]), "shapes: "),
        (dict(times=["<f8", [0] * 1000, b""]), "shapes: "),
        (dict(times=["<f8", [3], "a" * 24]), "Expected `bytes`, got `str`"),
        (dict(facts=[1]), "Expected `object`, got `array` - at `$.facts`"),
        (dict(facts={"a": ["b", 1]}), "Expected `str`, got `int` - at `$.facts[...][1]`"),
        (dict(facts={"a": b"b"}), "got `bytes` - at `$.facts[...]`"),
        (dict(status="right"), "Invalid enum value 'right' - at `$.status`"),
    ],
)
def test_decode_refuses_values_of_other_types(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EncodingError) as caught:
        decode(msgpack.encode({**PLAIN, **change}), Shapes, "shapes")
    said = str(caught.value)
    assert said.startswith("shapes: ")
    assert message in said
    assert said.isprintable()
    assert len(said) < 400


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        msgpack.encode(None) * 2,
        b"\x91" * 10**6,
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xc7\x01\x05a",
        pickle.dumps(SHAPES.points),
    ],
    ids=["nothing", "no code", "two", "deep", "array", "map", "bytes", "extension", "a pickle"],
)
@pytest.mark.parametrize("declared", [type(None), tuple[str, ...], Path, NDArray[np.float64]])
def test_decode_refuses_bytes_that_are_not_a_message(data: bytes, declared: Any) -> None:
    with pytest.raises(EncodingError, match=r"^value: "):
        decode(data, declared)


def test_decode_refuses_text_that_is_not_utf8() -> None:
    with pytest.raises(EncodingError, match=r"(?i)^value: .*utf-8"):
        decode(b"\xa3\xed\xa0\x80", str)


@dataclass(frozen=True)
class Nested:
    inner: tuple[Nested, ...] = ()


def test_decode_refuses_deep_nesting_of_a_recursive_type() -> None:
    with pytest.raises(EncodingError, match="recursion"):
        decode(b"\x81\xa5inner\x91" * 10**5 + b"\x80", Nested)


@pytest.mark.parametrize("declared", [tuple[str, ...], dict[str, int], tuple[Nested, ...]])
def test_decode_allocates_no_more_than_the_message_holds(declared: Any) -> None:
    tracemalloc.start()
    try:
        for code in (b"\xdd", b"\xdf"):
            with pytest.raises(EncodingError):
                decode(code + b"\x10\0\0\0" + b"\xa0" * 1000, declared)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_truth_value_has_no_other_bits() -> None:
    with pytest.raises(EncodingError, match="Expected bytes of 0 and 1"):
        decode(msgpack.encode(["|b1", [3], b"\1\2\1"]), NDArray[np.bool_])


def test_encode_refuses_unsafe_types() -> None:
    for declared in (NDArray[np.object_], typing.Callable[[], None], Connection):
        with pytest.raises(EncodingError):
            encode([], declared)
        with pytest.raises(EncodingError):
            encode(np.array([None]), declared)


MESSAGES = dict.fromkeys(
    [
        *list_worker_messages().values(),
        *list_run_messages().values(),
        *list_client_messages().values(),
        *list_server_messages().values(),
        *(CandidateStart, SealReport, CallLayout, CandidateError, tuple[Launch, ...]),
    ]
)


def test_messages_have_known_types_only() -> None:
    """No part of a message may have any type, and only paths and arrays are made by our code."""
    infos = msgspec.inspect.multi_type_info(list(MESSAGES))
    left, seen = list(infos), set()
    while left:
        info = left.pop()
        assert not isinstance(info, (msgspec.inspect.AnyType, msgspec.inspect.RawType))
        if isinstance(info, msgspec.inspect.CustomType):
            assert info.cls in (Path, np.ndarray)
        if id(info) in seen:
            continue
        seen.add(id(info))
        for name in getattr(info, "__struct_fields__", ()):
            part = getattr(info, name)
            parts = part if isinstance(part, tuple) else (part,)
            for each in parts:
                inner = each.type if isinstance(each, msgspec.inspect.Field) else each
                if isinstance(inner, msgspec.inspect.Type):
                    left.append(inner)


@settings(max_examples=300, deadline=None, database=None)
@given(st.data())
def test_damaged_results_are_results_or_errors(data: st.DataObject) -> None:
    whole = bytearray(encode(on_gpu(correct()), Result))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)) | st.just(len(whole)))
    with contextlib.suppress(EncodingError):
        assert type(decode(bytes(whole[:cut]), Result)) is Result
