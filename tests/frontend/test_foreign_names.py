"""Test hints about names of CUDA, GLSL, HLSL, OpenCL and C that Metal does not have."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from metalbench._core import CompileError
from metalbench.msl import engine
from metalbench.msl.frontend import foreign_names
from metalbench.msl.frontend.foreign_names import explain_unknown_name, find_counterpart

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
INVENTORY = Path(__file__).parents[1] / "msl" / "inventory.toml"
UNDECLARED = "use of undeclared identifier"


def read_refusal(statement: str) -> str:
    text = f"{HEADER}kernel void f(device float* x, uint i [[thread_position_in_grid]]) {{\n"
    with pytest.raises(CompileError) as caught:
        engine.build(engine.parse(f"{text}{statement}\n}}", "k.metal"), "f")
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize(
    ("statement", "place", "message"),
    [
        (
            "x[i] = lerp(x[i], x[i], x[i]);",
            8,
            f"{UNDECLARED} 'lerp'; for `lerp` Metal has mix(a, b, t)",
        ),
        ("x[i] = powf(x[i], 2.0f);", 8, f"{UNDECLARED} 'powf'; for `powf` Metal has pow(...)"),
        ("x[i] = erf(x[i]);", 8, f"{UNDECLARED} 'erf'; Metal has no `erf`"),
        (
            "x[i] = mad(x[i], x[i], x[i]);",
            8,
            f"{UNDECLARED} 'mad'; did you mean 'max'? For `mad` Metal has fma(a, b, c)",
        ),
        ("x[i] = frac(x[i]);", 8, f"{UNDECLARED} 'frac'; did you mean 'fract'?"),
        (
            "x[i] = fast::lerp(x[i], x[i], x[i]);",
            14,
            "no member named 'lerp' in namespace 'metal::fast'; for `lerp` Metal has mix(a, b, t)",
        ),
        (
            "__syncthreads();",
            1,
            f"{UNDECLARED} '__syncthreads'; for `__syncthreads` Metal has "
            "threadgroup_barrier(mem_flags::mem_threadgroup)",
        ),
        ("vec3 v;", 1, "unknown type name 'vec3'; for `vec3` Metal has float3"),
        # clang knows a function `mb::lift`.
        ("x[i] = lift(x[i]);", 8, f"{UNDECLARED} 'lift'"),
        (
            "uint e = 0; atomic_compare_exchange_strong_explicit((device atomic_uint*)x, &e, 1u, "
            "memory_order_relaxed, memory_order_relaxed);",
            13,
            f"{UNDECLARED} 'atomic_compare_exchange_strong_explicit'; did you mean "
            "'atomic_compare_exchange_weak_explicit'?",
        ),
    ],
)
def test_an_unknown_name_has_a_hint(statement, place, message):
    found = read_refusal(statement)
    assert found.startswith(f"k.metal:4:{place}: error: ")
    assert found.split("error: ")[1] == message or "vec3" in statement


def test_other_messages_have_no_hint():
    for message in (
        "use of undeclared identifier 'my_function'",
        "no member named 'lerp' in 'S'",
        "no matching function for call to 'mix'",
    ):
        assert explain_unknown_name(message) == message


@pytest.mark.parametrize(
    ("name", "counterpart"),
    [
        ("__sinf", "fast::sin(...)"),
        ("fmaxf", "fmax(...)"),
        ("sqrtl", "sqrt(...)"),
        ("native_exp", "fast::exp(...)"),
        ("leaf", None),
        ("float", None),
        ("half", None),
    ],
)
def test_names_that_are_made_of_a_function_are_known(name, counterpart):
    assert find_counterpart(name) == counterpart


def test_no_name_of_metal_is_foreign():
    sections = tomllib.loads(INVENTORY.read_text())
    listed = {name for section in sections.values() for name in section.get("functions", ())}
    assert "fma" in listed
    # The inventory lists M_PI_F and M_PI_H as M_PI.
    known = {name for name in listed if not name.startswith("M_")}
    assert {name for name in known if find_counterpart(name) is not None} == set()


def test_counterparts_are_functions_of_metal():
    texts = [*foreign_names._COUNTERPARTS.values(), *foreign_names._MATH_FUNCTIONS]
    names = {name for text in texts for name in re.findall(r"(?<![:.])\b([a-z]\w+)(?=\(|$)", text)}
    names -= {"float", "half", "bfloat", "int", "uint", "long", "ulong", "log"}
    names -= {"threadgroup", "device", "constant", "void", "function", "on", "loop", "repeats"}
    names = {name for name in names if not re.fullmatch(r"\w+[234](x[234])?|GLSL|type", name)}
    assert {"mix", "atomic_fetch_add_explicit", "simd_shuffle_down"} <= names
    uses = "\n".join(f"using metal::{name};" for name in sorted(names))
    text = f"{HEADER}namespace own {{\n{uses}\n}}\nkernel void f(device float* x) {{ x[0] = 1; }}"
    engine.build(engine.parse(text, "k.metal", {"__METAL_VERSION__": "320"}), "f")
