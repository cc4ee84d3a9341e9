"""Unused declarations of a preprocessed source are dropped, with their comments."""

from __future__ import annotations

import pytest

from metalbench.msl.frontend.pruning import drop_unused_declarations

SOURCE = """\
# 1 "a.metal"
# 1 "tools.h" 1
// Tools of every kind.
#pragma once
namespace tools {
using namespace metal;

// Twice a number.
inline float twice(float x) { return 2 * x; }  // doubled
inline half twice(half x) { return 2 * x; }

// Three times a number.
inline float thrice(float x) { return 3 * x; }

constant float kOne = 1, kTwo = 2;
enum Kind { kFirst, kSecond };
}  // namespace tools
# 3 "a.metal" 2
using namespace tools;

// Adds.
kernel void used(device float* y) { y[0] = USES; }
// Nothing calls it.
kernel void other(device float* y) { y[0] = thrice(1); }
"""


def pruned(uses: str) -> str:
    return drop_unused_declarations(SOURCE.replace("USES", uses), ["used"])


def test_overloads_stay_and_others_go_with_their_comments():
    text = pruned("twice(1.0f)")
    assert "inline float twice" in text
    assert "inline half twice" in text
    assert "Tools of every kind" in text
    assert "// Twice a number." in text
    assert "// doubled" in text
    assert "thrice" not in text
    assert "Three times" not in text
    assert "other" not in text
    assert "Nothing calls it" not in text
    assert "#" not in text
    assert text.count("using namespace") == 2


@pytest.mark.parametrize(("uses", "kept"), [("kTwo", "kOne = 1, kTwo"), ("kSecond", "enum Kind")])
def test_further_variables_and_enumerators_keep_their_declaration(uses, kept):
    assert kept in pruned(uses)


def test_a_namespace_without_declarations_goes():
    text = pruned("1")
    assert "tools" not in text
    assert "Tools" not in text
    assert text.startswith("// Adds.\nkernel void used")


def test_using_directives_of_a_dropped_namespace_go_to_the_next_one():
    source = (
        "namespace a {\nusing namespace metal;\nfloat f();\n}\n"
        "namespace a {\nfloat g() { return precise::exp(1.0f); }\n}\n"
        "kernel void k(device float* y) { y[0] = a::g(); }\n"
    )
    text = drop_unused_declarations(source, ["k"])
    assert "f()" not in text
    assert text.startswith("namespace a {\n\nusing namespace metal;\n")
