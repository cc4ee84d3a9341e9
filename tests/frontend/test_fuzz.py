"""Test that the front end returns a result or one of our errors, for any text."""

from __future__ import annotations

import random

import pytest
from frontend.fuzz import KERNELS, front_end
from frontend.generated_msl import WORDS, Generator, mutate
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from metalbench._core import CompileError
from metalbench.msl.frontend.declarations import parse_declarations
from metalbench.msl.frontend.tokens import lex, split_source
from metalbench.msl.toolchain.preprocess import parse

BRIEF = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
OUTCOMES = ("lowered", "refused")


@given(st.integers(0, 2**32))
@BRIEF
def test_generated_kernels_are_lowered(seed):
    assert front_end(Generator(random.Random(seed)).source()) == "lowered"


@given(st.integers(0, 2**32))
@BRIEF
def test_mutated_kernels_are_lowered_or_refused(seed):
    choose = random.Random(seed)
    own = sorted(KERNELS.rglob("*.metal"))
    text = mutate(choose, choose.choice(own).read_text(), Generator(choose).source())
    assert front_end(text) in OUTCOMES


@pytest.mark.parametrize(
    "text",
    [
        "using Value = device float*;",
        "typedef float Value;",
        "template <typename T> using Own = T;",
        "struct S { using Value = float; float own[2]; };",
        "constant constexpr float one = 1;",
        "namespace metal { using Value = float; }",
        "namespace metal { typedef float Value; }",
        "enum class Kind : uint { first = 1, second };",
        "inline float f(thread const float& x, int y = 2) { using A = int; return x + A(y); }",
    ],
)
def test_declarations_cut_after_any_token_are_lowered_or_refused(text):
    tokens = lex(text)
    for count in range(1, len(tokens)):
        for rest in ("", "\nkernel void f(device float* a) { a[0] = 1; }"):
            assert front_end(" ".join(tokens.text[:count]) + rest) in OUTCOMES


@given(st.text(max_size=200) | st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
@example("A[[buffer()]]")
@example("constant A[[buffer(0)]];")
@BRIEF
def test_any_text_is_lowered_or_refused(text):
    assert front_end(f"kernel void f(device float* a) {{ {text}\n}}") in OUTCOMES
    assert front_end(text) in OUTCOMES


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_split_source_keeps_all_text_of_random_sources(text):
    assert "".join(split_source(text)) == text


@given(st.lists(st.sampled_from(WORDS), max_size=200).map(" ".join))
def test_declarations_cover_balanced_texts_in_order(text):
    tokens = lex(text)
    if tokens.is_balanced:
        ends = [declaration.last for declaration in parse_declarations(tokens)]
        assert ends == sorted(ends)
        assert all(0 < end <= len(tokens) for end in ends)


@pytest.mark.parametrize("depth", [50, 5000])
@pytest.mark.parametrize("pair", ["()", "[]", "{}", "<>"])
def test_deep_brackets(pair, depth):
    text = f"kernel void f(device int* a) {{ int x = {pair[0] * depth}{pair[1] * depth}; }}"
    assert front_end(text) in OUTCOMES


def test_deep_template_headers():
    text = "template <" * 500 + "typename T" + ">" * 500 + " struct S {}; kernel void f() {}"
    assert front_end(text) in OUTCOMES


def test_a_function_constant_needs_a_name():
    source = "constant bool a [[function_constant(0)]], [[function_constant(1)]];\n"
    with pytest.raises(CompileError, match="function_constant: expected a type and a name"):
        _ = parse(source, "nameless.metal", {}, []).constants
