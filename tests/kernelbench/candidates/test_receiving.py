"""Messages from a candidate's process: any field and any byte of them may be hostile."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from multiprocessing.connection import Connection, Pipe

import pytest
from msgspec import msgpack

from metalbench.errors import EncodingError
from metalbench.kernelbench.candidates.messages import MOST_BYTES, CandidateError, Launch
from metalbench.kernelbench.candidates.player import (
    MOST_LAUNCHES,
    MOST_MESSAGE,
    MOST_TEXT,
    decode_error,
    decode_launches,
    receive,
)
from metalbench.sandbox.encoding import encode

GOOD = Launch(
    "custom_kernel_a_float", "<a>", '#include "mlx.h"\nvoid f();\n', "safe", (64, 1, 1), 3
)
FIELDS = {
    "name: nothing": {"name": ""},
    "name: NUL": {"name": "k\0"},
    "name: an escape sequence": {"name": "k\x1b[31m"},
    "name: a line break at its end": {"name": "k\n"},
    "name: endless": {"name": "k" * 1001},
    "name: other letters": {"name": "k\N{CYRILLIC SMALL LETTER A}"},
    "file: a folder of the host": {"file": "/etc/x"},
    "file: a parent folder": {"file": "<../../etc/x>"},
    "file: another line": {"file": "<a\n#include </etc/passwd>\n//>"},
    "file: a carriage return": {"file": "<a\r#include </etc/passwd>>"},
    "file: a quote": {"file": '<a"b>'},
    "file: NUL": {"file": "<a\0>"},
    "file: endless": {"file": "<" + "a" * 5000 + ">"},
    "unit: no prelude": {"unit": "kernel void k() {}"},
    "unit: NUL": {"unit": GOOD.unit + "\0"},
    "unit: an escape sequence": {"unit": GOOD.unit + "// \x1b[2J"},
    "unit: endless": {"unit": GOOD.unit + " " * MOST_TEXT},
    "math: unknown": {"math": "\x1b[31m"},
    "math: nothing": {"math": ""},
    "threads: zero": {"threads": (0, 1, 1)},
    "threads: negative": {"threads": (1, -1, 1)},
    "threads: beyond 32 bits": {"threads": (1, 1, 1 << 40)},
    "last: negative": {"last": -1},
    "last: more than a group has": {"last": 64},
}
OTHER_TYPES = {
    "name": 5,
    "file": None,
    "unit": ["a"],
    "math": True,
    "threads": [1, 1],
    "last": 1.5,
}


def as_sent(value: object) -> bytes:
    """Return the message of a process that encodes any value."""
    return msgpack.encode(value)


def test_launches_of_the_real_judge_are_accepted() -> None:
    assert decode_launches(encode((GOOD,), tuple[Launch, ...])) == (GOOD,)


@pytest.mark.parametrize("change", FIELDS.values(), ids=FIELDS)
def test_an_invalid_field_is_named(change: dict[str, object]) -> None:
    (field,) = change
    data = as_sent([asdict(replace(GOOD, **change))])  # type: ignore[arg-type]
    with pytest.raises(EncodingError, match=field) as caught:
        decode_launches(data)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("field", OTHER_TYPES)
def test_a_field_of_another_type_is_refused(field: str) -> None:
    with pytest.raises(EncodingError, match=field):
        decode_launches(as_sent([{**asdict(GOOD), field: OTHER_TYPES[field]}]))


@pytest.mark.parametrize("field", ["name", "file", "unit"])
def test_text_that_is_not_utf8_is_refused(field: str) -> None:
    data = as_sent([asdict(replace(GOOD, **{field: "surrogate"}))])  # type: ignore[arg-type]
    with pytest.raises(EncodingError, match=r"(?i)utf-8"):
        decode_launches(data.replace(b"surrogate", b"\xed\xa0\x80      "))


@pytest.mark.parametrize("count", [0, MOST_LAUNCHES + 1])
def test_the_number_of_kernels_is_limited(count: int) -> None:
    with pytest.raises(EncodingError, match=f"got {count}"):
        decode_launches(as_sent([asdict(GOOD)] * count))


def test_decode_error_limits_and_escapes_the_message() -> None:
    sent = CandidateError("a\x1b b", "x\ud800\x1b[31m\0" + "A" * 3_000_000)
    told = decode_error(encode(sent, CandidateError))
    told.message.encode()
    assert told.kind == "raised"
    assert len(told.message) == MOST_MESSAGE
    assert told.message.startswith(r"x\ud800\x1b[31m\x00AAA")


@pytest.fixture
def ends() -> tuple[Connection, Connection]:
    """Both ends of a channel."""
    return Pipe()


def test_receive_returns_messages_unchanged(ends: tuple[Connection, Connection]) -> None:
    ours, theirs = ends
    for each in (b"", b"D", b"D" * 70_000):
        theirs.send_bytes(each)
        assert receive(ours, 10.0) == each


@pytest.mark.parametrize(
    "part", [b"", b"\0\0", b"\0\0\x10\0", b"\0\0\x10\0D", b"\0\0\x10\0" + b"D" * 4095]
)
def test_receive_of_a_partial_message_times_out(
    ends: tuple[Connection, Connection], part: bytes
) -> None:
    ours, theirs = ends
    os.write(theirs.fileno(), part)
    assert receive(ours, 0.01) is None


@pytest.mark.parametrize("length", [-1, -(2**31), MOST_BYTES + 1, 2**31 - 1])
def test_a_too_long_message_is_refused_before_it_is_read(
    ends: tuple[Connection, Connection], length: int
) -> None:
    ours, theirs = ends
    os.write(theirs.fileno(), length.to_bytes(4, "big", signed=True))
    with pytest.raises(EncodingError, match="expected a message of at most"):
        receive(ours, 10.0)


def test_receive_raises_for_a_truncated_message(ends: tuple[Connection, Connection]) -> None:
    ours, theirs = ends
    os.write(theirs.fileno(), b"\0\0\x10\0D")
    theirs.close()
    with pytest.raises(EOFError):
        receive(ours, 10.0)
