"""Test the assignment of argument table indices."""

from __future__ import annotations

import pytest

from metalbench import _core
from metalbench.msl import engine

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


def slots(parameters: str, before: str = "") -> list[tuple[str, str, int]]:
    program = engine.parse(f"{HEADER}{before}\nkernel void f({parameters}) {{}}", "my.metal")
    built = engine.build(program, "f")
    return [(str(a["name"]), str(a["kind"]), int(a["index"])) for a in built.arguments]


def test_each_kind_of_slot_is_counted_separately():
    assert slots(
        "texture2d<float> a, device int* b, sampler c, depth2d<float> d, constant int& e"
    ) == [
        ("a", "texture", 0),
        ("b", "buffer", 0),
        ("c", "sampler", 0),
        ("d", "texture", 1),
        ("e", "buffer", 1),
    ]


def test_arrays_take_an_index_for_each_element():
    before = "constant constexpr int count = 4;"
    parameters = (
        "array<texture2d<float, access::read>, count - 1> a, texture1d<int> b, "
        "texture3d<half> c [[texture(2 + 2)]], metal::array<metal::sampler, 2> d, metal::sampler e"
    )
    assert slots(parameters, before) == [
        ("a", "texture", 0),
        ("b", "texture", 3),
        ("c", "texture", 4),
        ("d", "sampler", 0),
        ("e", "sampler", 2),
    ]


def test_an_alias_may_stand_for_a_texture():
    before = "using Image = texture2d<half>; typedef metal::sampler Lookup;"
    assert slots("Image a, Lookup b, constant array<texture2d<float>, 2>& c", before) == [
        ("a", "texture", 0),
        ("b", "sampler", 0),
        ("c", "buffer", 0),
    ]


def test_gaps_are_used_where_an_array_fits():
    assert slots(
        "texture1d<int> a [[texture(1)]], array<texture1d<int>, 2> b, texture1d<int> c"
    ) == [
        ("a", "texture", 1),
        ("b", "texture", 2),
        ("c", "texture", 0),
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("texture2d<float> a [[texture(128)]]", r"must be between 0 and 127; \[f\] a: got 128"),
        ("sampler s [[sampler(16)]]", r"must be between 0 and 15; \[f\] s: got 16"),
        (
            "array<texture2d<float>, 4> a [[texture(126)]]",
            r"must be between 0 and 124; \[f\] a: got 126",
        ),
        ("array<texture2d<float>, n> a", r"\[f\] a: expected a constant number of elements, got n"),
        (
            "array<texture2d<float>, 4> a [[texture(0)]], texture2d<float> b [[texture(3)]]",
            r"cannot reserve 'texture' resource location at index 3; \[f\] b: a has it",
        ),
    ],
)
def test_assign_indices_refuses_invalid_indices(parameters, message):
    with pytest.raises(_core.CompileError, match=rf"my\.metal:4:\d+: error: .*{message}"):
        slots(parameters)


def test_a_texture_removed_by_a_function_constant():
    before = "constant bool wanted [[function_constant(0)]];"
    source = f"""{HEADER}{before}
    kernel void f(texture2d<float> a [[texture(0), function_constant(wanted)]],
                  device float* out) {{
      if (wanted) out[0] = a.read(uint2(0)).x;
      else out[0] = float(is_null_texture(a));
    }}"""
    program = engine.parse(source, "my.metal")
    names = [
        [a["name"] for a in engine.build(program, "f", {"wanted": w}).arguments]
        for w in (True, False)
    ]
    assert names == [["a", "out"], ["out"]]


ENUMS = """
typedef enum ImageIndex { ImageIndexInput = 1, ImageIndexOutput, } ImageIndex;
enum class Lane : int { first = ImageIndexOutput << 2, second };
namespace own { enum Kind { first, second }; enum { last = Kind::second + 4 }; }
"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("ImageIndexInput", 1),
        ("ImageIndexOutput", 2),
        ("ImageIndex::ImageIndexOutput", 2),
        ("int(Lane::second)", 9),
        ("(int)Lane::first + 1", 9),
        ("own::last", 5),
        ("own::Kind::second", 1),
    ],
)
def test_enumerators_name_indices(index, expected):
    assert slots(f"device int* a [[buffer({index})]]", ENUMS) == [("a", "buffer", expected)]
