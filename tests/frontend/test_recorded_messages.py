"""Test what the engine does with sources that Apple's compiler refuses with a recorded message."""

from pathlib import Path

import pytest
from frontend.recorded_messages import RECORDS, format_table

from metalbench._core import CompileError
from metalbench.msl import engine

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "recorded-messages.md"


def build(code: str) -> None:
    engine.build(engine.parse(HEADER + code, "k.metal"), "f")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["metal"])
def test_a_recorded_message_is_treated_as_the_table_says(record):
    if record["engine"] == "accepts":
        build(record["code"])
        return
    with pytest.raises(CompileError) as caught:
        build(record["code"])
    words = record["metal" if record["engine"] == "same" else "words"]
    messages = [line for line in str(caught.value).splitlines() if ": error: " in line]
    assert any(line.split(": error: ")[1].startswith(words) for line in messages), messages
    if record["engine"] == "other":
        assert not any(record["metal"] in line for line in messages)


def test_the_page_lists_the_recorded_messages():
    assert format_table() in PAGE.read_text()


@pytest.mark.parametrize(
    "code",
    [
        # Colons that are not behind labels.
        "struct S { uint a : 3; uint : 5; };\n"
        "kernel void f(device float* x, uint i [[thread_position_in_grid]]) {\n"
        "  S s = {}; float v[2] = {1, 2};\n"
        "  switch (i) { case 1: x[i] = 1; break; default: x[i] = i > 3 ? s.a : 2; }\n"
        "  for (float e : v) { x[i] += e; }\n"
        "  struct T { private: float a; public: float b; };\n"
        "}",
        # Subscripts, and arrays whose length is given elsewhere.
        "constant float table[] = {1, 2};\nstruct S { float a[2]; static constant float b[]; };\n"
        "constant float S::b[] = {1};\n"
        "kernel void f(device float* x, uint i [[thread_position_in_grid]]) {\n"
        "  float a[] = {1, 2}; x[0] = a[0]; x[i] = table[i & 1] + S::b[0]; { a[0] = 1; }\n"
        "}",
        # `device` and `constant` of pointers and references.
        "float g(device float* a, constant float& b, device float (&c)[2]) { return *a + c[0]; }\n"
        "constant uint n [[function_constant(0)]];\n"
        "kernel void f(device float* x, constant float& b, uint i [[thread_position_in_grid]]) {\n"
        "  device float* p = x; device float& q = x[i]; device const float4* r;\n"
        "  q = p[0] + b; (void)r;\n"
        "}",
    ],
)
def test_similar_sources_are_accepted(code):
    build(code)
