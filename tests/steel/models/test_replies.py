"""Replies in the forms in which models write them; others are refused with a reason."""

from __future__ import annotations

import json

import pytest

from agent_steel.models.replies import (
    LONGEST,
    MOST_KERNELS,
    ReplyError,
    kernel_replies,
    object_schema,
    texts,
)
from metalbench.kernel.header import parse

SOURCE = """// dispatch: f  threads_in_grid=(n)  threads=(64)
[[kernel]] void f(device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = 1;
}
"""
OTHER = SOURCE.replace("= 1;", "= 1.0;")
PARENT = parse(SOURCE, name="f")
FIELDS = {"summary": "It is new.", "technique": "an idea", "wording": "slow"}
OBJECT = json.dumps({**FIELDS, "source": SOURCE})
SECOND = json.dumps({**FIELDS, "technique": "another", "source": OTHER})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("   \n", "it is empty"),
        ("null", "expected a JSON object, got 'null'"),
        ("Here is nothing: {}", "expected a JSON object, got 'Here is"),
        ('{"a": "b"', "it is not JSON"),
        ('{"a": "b"} {"a": "c"}', "expected one JSON object, got 2"),
        ("[" * 100_000, "expected a JSON object"),
        ("{ " * 100_000, "it is not JSON"),
        ('{"a": ' + "[" * 100_000, "it is not JSON"),
        ('{"a": "b", "a": "c"}', "`a` is there twice"),
        ('{"a": 1}', "expected a text, got int"),
        ("{}", "expected a JSON object"),
        ('{"b": 1}', "`a` is missing"),
        ('{"a": "b", "c": "d"}', "`c` was not asked for; expected a"),
        ('{"a": "12345678901"}', "expected at most 10 bytes, got 11"),
        ('{"a": "\\u0000"}', r"control character, U\+0000"),
        ('{"a": "\\ud800"}', "a lone surrogate"),
        ('{"name": "f", "arguments": "{"}', "arguments of the tool call are not JSON"),
    ],
)
def test_texts_refuses_other_forms(text, reason):
    with pytest.raises(ReplyError, match=reason):
        texts(text, {"a": 10})


@pytest.mark.parametrize(
    "text",
    [
        ' {"a": "x\\ny"}\n',
        '{"a": "x\ny"}',
        '```json\n{"a": "x\\ny"}\n```',
        'Here it is: {"a": "x\\ny"} I hope.',
        'It has {braces}. {"a": "x\\ny"}',
        '{"b": "c"}\n{"a": "x\\ny"}',
        '{"a": "x\\ny"}\nOnce more: {"a": "x\\ny"}',
        '[{"a": "x\\ny"}]',
        '<tool_call>{"name": "f", "arguments": {"a": "x\\ny"}}</tool_call>',
        '{"name": "f", "arguments": "{\\"a\\": \\"x\\\\ny\\"}"}',
        '{"type": "function", "function": {"name": "f", "arguments": {"a": "x\\ny"}}}',
        '{"answers": [{"a": "x\\ny"}]}',
    ],
)
def test_texts_finds_the_object_in_the_forms_of_models(text):
    assert texts(text, {"a": 10}) == {"a": "x\ny"}


def fenced(source, language="metal"):
    return f"```{language}\n{source}```"


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        (OBJECT, [SOURCE]),
        (f"Two ideas.\n{OBJECT}\nand\n{SECOND}", [SOURCE, OTHER]),
        (f"[{OBJECT}, {SECOND}]", [SOURCE, OTHER]),
        (fenced(OBJECT + "\n", "json"), [SOURCE]),
        (json.dumps({**FIELDS, "source": fenced(SOURCE)}), [SOURCE]),
        (json.dumps({**FIELDS, "source": f"{fenced(SOURCE)}\n{fenced(OTHER)}"}), [SOURCE, OTHER]),
        (f"{json.dumps(FIELDS)}\n\n{fenced(SOURCE)}", [SOURCE]),
        (f"{json.dumps(FIELDS)}\n\n{fenced(SOURCE)}\n{fenced(OTHER)}", [SOURCE, OTHER]),
        (f"Vector loads\n\nFour at a time.\n\n{fenced(SOURCE, 'cpp')}", [SOURCE]),
        (f"One:\n{fenced(SOURCE)}\nTwo:\n{fenced(OTHER)}\nDone.", [SOURCE, OTHER]),
        # A version with a fault does not spoil the other.
        (f"{OBJECT}\n{SECOND.replace('dispatch', 'dispatches')}", [SOURCE]),
        (f"{OBJECT}\n{OBJECT}", [SOURCE]),
    ],
)
def test_kernel_replies_reads_every_version(text, sources):
    assert [each.source for each in kernel_replies(text, PARENT)] == sources


def test_kernel_replies_takes_prose_as_the_summary():
    (found,) = kernel_replies(f"## Vector loads\n\nFour at a time.\n{fenced(SOURCE)}", PARENT)
    assert (found.technique, found.wording) == ("Vector loads", "")
    assert found.summary == "Vector loads Four at a time."
    (bare,) = kernel_replies(fenced(SOURCE), PARENT)
    assert bare.technique == "not named"
    assert kernel_replies("é" * 500 + f"\n{fenced(SOURCE)}", PARENT)[0].technique == "é" * 40


def test_kernel_replies_limits_the_versions_of_an_answer():
    many = [SOURCE.replace("= 1;", f"= {number};") for number in range(9)]
    found = kernel_replies("\n".join(map(fenced, many)), PARENT)
    assert [each.source for each in found] == many[:MOST_KERNELS]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps(FIELDS), "`source` is missing"),
        (fenced("kernel void f() {}\n"), "no dispatch line"),
        (json.dumps({**FIELDS, "summary": " ", "source": SOURCE}), "`summary` is empty"),
        (fenced("x" * LONGEST["source"] + "\n"), "expected at most|no dispatch line"),
        ("Here is a faster kernel.", "expected a JSON object"),
    ],
)
def test_kernel_replies_names_the_first_fault(text, reason):
    with pytest.raises(ReplyError, match=reason):
        kernel_replies(text, PARENT)


def test_kernel_replies_prefers_a_version_to_nothing_left():
    nothing = json.dumps({**FIELDS, "technique": "none", "source": ""})
    (alone,) = kernel_replies(nothing, PARENT)
    assert alone.nothing_left
    assert [each.source for each in kernel_replies(f"{nothing}{OBJECT}", PARENT)] == [SOURCE]


def test_schemas_are_strict():
    schema = object_schema({"a": "one", "b": "two"})
    assert schema["required"] == ["a", "b"]
    assert schema["additionalProperties"] is False
