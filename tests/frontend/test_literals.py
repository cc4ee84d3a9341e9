"""Test rewrite_literals and refuse_double."""

import numpy as np
import pytest

from metalbench import _core
from metalbench._core import CompileError
from metalbench.msl import engine
from metalbench.msl.frontend.edits import Edits
from metalbench.msl.frontend.token_rewrites import rewrite_literals
from metalbench.msl.frontend.tokens import lex

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
KERNEL = "kernel void f(device {type}* x, device float* y, uint i [[thread_position_in_grid]])"


def run(text, x):
    """Run `f(x, y)` for every element of x."""
    y = np.zeros(len(x), np.float32)
    pipeline = _core.open("cpu").compile(HEADER + text, filename="my.metal").pipeline()
    dispatch = _core.Dispatch(pipeline, {"x": x, "y": y}, threads_in_grid=len(x), threads=8)
    _core.open("cpu").run([dispatch])
    return y.tolist()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1.0", "1.0f"),
        ("1.", "1.f"),
        (".5", ".5f"),
        ("1.0e-5", "1.0e-5f"),
        ("1e5", "1e5f"),
        ("1'000.5", "1'000.5f"),
        ("0x1.8p3", "0x1.8p3f"),
        ("0x1p-3", "0x1p-3f"),
        ("0x.8P1", "0x.8P1f"),
        ("1.5h", "half(1.5f)"),
        ("2h", "half(2.f)"),
        ("1e2H", "half(1e2f)"),
        ("0x1p3h", "half(0x1p3f)"),
        ("2.5bf", "bfloat(2.5f)"),
        ("3BF", "bfloat(3.f)"),
        ("1.5L", "1.5"),
        ("0x1.8p3l", "0x1.8p3"),
        *((text, text) for text in ("1.0f", "2.F", "1e3f", "1", "0x1e5", "0xbf", "07", "1u")),
        *((text, text) for text in ("0xEH", "1'000", "5ul", "2.0_own")),
    ],
)
def test_spelling(before, after):
    tokens = lex(f"x = {before};")
    edits = Edits(tokens.source)
    rewrite_literals(tokens, edits)
    assert edits.apply() == f"x = {after};"


# Every place in which clang once took a literal for a double, or might.
TYPES = """
template <typename T> struct Of { static constexpr constant bool single = is_same_v<T, float>; };
#define THIRD 0.3
#define PASTED(n) n##.25
constant constexpr auto whole = 1.;
constexpr auto folded() { return 1.0e-5 + .5 + 0x1.8p3; }
static_assert(is_same_v<decltype(whole), const float> && is_same_v<decltype(folded()), float>);
template <typename T, typename U = decltype(0.5)> constexpr bool all(T x, U y = 0.25) {
  auto in_template = 1.5;
  auto lambda = [](auto z) { return z * 2.0; };
  static_assert(is_same_v<decltype(in_template), float> && is_same_v<U, float>);
  static_assert(is_same_v<decltype(THIRD), float> && is_same_v<decltype(PASTED(1)), float>);
  static_assert(is_same_v<decltype(lambda(x)), float> && is_same_v<decltype(x * 1e0), float>);
  return x * 0x1p-1 == T(x * 0.5);
}
static_assert(all(1.0f) && all(half(1)) && all(bfloat(1)) && all(4));
"""


def test_their_type_is_float_in_templates_macros_defaults_and_constants():
    program = engine.parse(
        f"{HEADER}{TYPES}{KERNEL.format(type='float')} {{ y[i] = 1; }}",
        macros={"__METAL_VERSION__": "400"},
    )
    assert engine.build(program, "f").path


def test_a_template_compares_with_the_float():
    text = f"""template<typename T> float eq(T x) {{ return x == 0.1 ? 1 : 0; }}
    {KERNEL.format(type="float")} {{ y[i] = eq(x[i]); }}"""
    assert run(text, np.array([0.1, 0.2], np.float32)) == [1, 0]


@pytest.mark.parametrize("type_", ["half", "bfloat"])
def test_short_floats_among_literals(type_):
    text = f"""template<typename T> float g(T x) {{ return clamp(x, T(0.0), T(1.0)) + T(x * 0.5); }}
    {KERNEL.format(type=type_)} {{
      using T = {type_};
      y[i] = clamp(x[i], T(0.0), T(1.0)) + g(x[i]) + max(float(x[i]), 0.25);
    }}"""
    values = np.array([-1, 0.5, 2], np.float32)
    upper = (values.view(np.uint32) >> 16).astype(np.uint16)
    x = values.astype(np.float16) if type_ == "half" else upper
    assert run(text, x) == [-0.25, 1.75, 5]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("kernel void f(device float* x,\n  device double* y) {}", "4:10"),
        ("kernel void f(device float* x) {\n  double sum = 0; x[0] = sum; }", "4:3"),
        (
            "float g(double x) { return x; }\nkernel void f(device float* x) {}",
            "3:9",
        ),
        ("kernel void f(device float* x) { x[0] = 1.0L; }", "3:41"),
    ],
)
def test_double_is_refused_by_name(text, place):
    with pytest.raises(CompileError) as caught:
        engine.build(engine.parse(HEADER + text, "my.metal"), "f")
    message = f"my.metal:{place}: error: 'double' is not supported in Metal; "
    assert str(caught.value).startswith(message)
    assert "use float" in str(caught.value)
