"""A reply is one JSON object of the requested texts, or is refused with a reason."""

from __future__ import annotations

import pytest

from agent_steel.models.replies import ReplyError, object_schema, texts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("   \n", "it is empty"),
        ("null", "text before it: 'null'"),
        ('{"a": "b"', "it is not JSON"),
        ('{"a": "b"} {"a": "b"}', "text behind it"),
        ("[" * 100_000, "text before it"),
        ('{"a": ' + "[" * 100_000, "it is not JSON"),
        ('{"a": "b", "a": "c"}', "`a` is there twice"),
        ('{"a": 1}', "expected a text, got int"),
        ("{}", "`a` is missing"),
        ('{"a": "b", "c": "d"}', "`c` was not asked for; expected a"),
        ('{"a": "12345678901"}', "expected at most 10 bytes, got 11"),
        ('{"a": "\\u0000"}', r"control character, U\+0000"),
        ('{"a": "\\ud800"}', "a lone surrogate"),
        ('```json\n{"a": "b"}\n```', "text before it"),
    ],
)
def test_texts_refuses_other_forms(text, reason):
    with pytest.raises(ReplyError, match=reason):
        texts(text, {"a": 10})


def test_texts_returns_the_requested_texts():
    assert texts(' {"a": "x\\ny"}\n', {"a": 10}) == {"a": "x\ny"}


def test_schemas_are_strict():
    schema = object_schema({"a": "one", "b": "two"})
    assert schema["required"] == ["a", "b"]
    assert schema["additionalProperties"] is False
