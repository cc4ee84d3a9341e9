"""Chapters 6.2 and 6.5: common and math functions, to the accuracy of tables 8.1 to 8.3."""

from __future__ import annotations

import numpy as np
import pytest
from msl.conformance import Call, edges, run, samples, worst
from msl.math_oracles import ONE, THREE, TWO

# NumPy's, of infinities and NaN in the oracles.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


COVERS = {
    "6.2 Common functions": {"clamp", "mix", "saturate", "sign", "smoothstep", "step"},
    "6.5 Math functions": {call.name for call in (*ONE, *TWO, *THREE)}
    - {"saturate", "sign", "step", "clamp"}
    | {"ilogb", "nextafter", "fma"},
}
# What table 8.2 and fast math's own flags leave undefined: huge angles and quotients.
FAST = {"rsqrt": 2.0, "divide": 2.5}
HUGE = {"sin", "cos", "tan", "sincos"}


def _check(cpu, calls, inputs, *, kind: str, width: int, fast: bool, bound: dict) -> None:
    got = run(cpu, calls, inputs, kind=kind, width=width, fast_math=fast)
    for call, values in zip(calls, got, strict=True):
        worst(call, values, inputs, kind, bound.get(call.name, call.ulps))


def _bounds(kind: str, fast: bool) -> dict[str, float]:
    """Exceptions to the table of the precise functions in float."""
    if kind != "float":
        return {call.name: min(call.ulps, 1.0) for call in (*ONE, *TWO)}
    return FAST if fast else {}


def _angles(x: np.ndarray) -> np.ndarray:
    """Fast functions reduce angles to 2^40; what they give beyond is in test_huge_angles."""
    return np.where(np.abs(x.astype(np.float64)) < 2.0**40, x, x.dtype.type(1))


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "precise"])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["float", "half"])
def test_functions_of_one_argument(cpu, kind, width, fast):
    x = samples(kind, 8192)
    _check(
        cpu,
        ONE,
        [_angles(x) if fast else x],
        kind=kind,
        width=width,
        fast=fast,
        bound=_bounds(kind, fast),
    )


@pytest.mark.parametrize("kind", ["half", "bfloat"])
def test_every_value_of_the_short_formats(cpu, kind):
    x = np.arange(1 << 16, dtype=np.uint16).view(samples(kind, 8).dtype)
    calls = [call for call in ONE if kind == "half" or call.name not in ("frexp", "ldexp")]
    x = _angles(x)
    _check(cpu, calls, [x], kind=kind, width=1, fast=True, bound=_bounds(kind, True))


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "precise"])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["float", "half"])
def test_functions_of_two_arguments(cpu, kind, width, fast):
    grid = np.meshgrid(edges(kind), edges(kind))
    x = np.concatenate([samples(kind, 8192), grid[0].ravel()])
    y = np.concatenate([samples(kind, 8192, seed=2), grid[1].ravel()])
    calls = TWO
    if fast and kind == "float":
        calls = [call for call in TWO if call.name not in ("fmod", "divide")]
        tame = np.abs(np.nan_to_num(y.astype(np.float64), nan=1.0))
        ok = (tame > 2.0**-126) & (tame < 2.0**126)
        _check(
            cpu, TWO[2:3], [x, np.where(ok, y, 1)], kind=kind, width=width, fast=True, bound=FAST
        )
    _check(cpu, calls, [x, y], kind=kind, width=width, fast=fast, bound=_bounds(kind, fast))


@pytest.mark.parametrize("width", [1, 4])
def test_fast_remainders_of_quotients_that_an_int_holds(cpu, width):
    x, y = np.random.default_rng(7).uniform(-1000, 1000, (2, 8192)).astype(np.float32)
    fmod = [call for call in TWO if call.name == "fmod"]
    _check(cpu, fmod, [x, y], kind="float", width=width, fast=True, bound={})


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["float", "half"])
def test_functions_of_three_arguments(cpu, kind, width):
    inputs = [samples(kind, 8192, seed) for seed in (1, 2, 3)]
    clamp = [call for call in THREE if call.name == "clamp"]
    median = [call for call in THREE if call.name.endswith("median3")]
    others = [call for call in THREE if call not in clamp + median]
    _check(cpu, others, inputs, kind=kind, width=width, fast=True, bound={})
    # Of an ordinary range and three numbers: what NaN gives there is not defined.
    numbers = [np.where(np.isnan(x), x.dtype.type(1), x) for x in inputs]
    _check(cpu, median, numbers, kind=kind, width=width, fast=True, bound={})
    _check(cpu, clamp, [inputs[0], *numbers[1:]], kind=kind, width=width, fast=True, bound={})


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["float", "half"])
def test_fma_rounds_once(cpu, kind, width):
    a, b, c = (samples(kind, 8192, seed) for seed in (1, 2, 3))
    c[::2] = (-(a[::2].astype(np.float64) * b[::2])).astype(c.dtype)
    got = run(cpu, [Call("fma", "fma(a, b, c)", np.add)], [a, b, c], kind=kind, width=width)[0]
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) * b
        total = product + c
        # The sum's own rounding error decides ties of the final rounding.
        nearest = total.astype(np.float32).astype(a.dtype)
    sure = np.abs(np.ldexp(1.0, -40) * product) <= np.abs(total)
    same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
    assert np.all(same | ~(sure | np.isnan(total)))


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("kind", ["float", "half"])
def test_ilogb_frexp_and_ldexp(cpu, kind, width):
    x = samples(kind, 4096)
    finite = np.isfinite(x) & (x != 0)
    calls = [
        Call("ilogb", "ilogb(a)", np.abs),
        Call("frexp", "([&]{ I e; frexp(a, e); return e; }())", np.abs),
    ]
    power, exponent = run(cpu, calls, [x], kind=kind, width=width, result="int")
    want = np.frexp(x.astype(np.float64))[1]
    np.testing.assert_array_equal(
        power[:, finite], np.broadcast_to(want, power.shape)[:, finite] - 1
    )
    np.testing.assert_array_equal(exponent[:, finite], power[:, finite] + 1)
    assert np.all(power[:, x == 0] == np.iinfo(np.int32).min)
    assert np.all(power[:, np.isinf(x)] == np.iinfo(np.int32).max)
    shifts = [
        Call("ldexp", f"ldexp(a, I({n}))", lambda x, n=n: np.ldexp(x, n))
        for n in (-160, -30, -1, 0, 1, 20, 140, 290, -290)
    ]
    for call, got in zip(shifts, run(cpu, shifts, [x], kind=kind, width=width), strict=True):
        worst(call, got, [x], kind, 0.5)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["float", "half"])
def test_nextafter(cpu, kind, width):
    grid = np.meshgrid(edges(kind), edges(kind))
    x = np.concatenate([samples(kind, 4096), grid[0].ravel()])
    y = np.concatenate([samples(kind, 4096, 2), grid[1].ravel()])
    call = Call("nextafter", "nextafter(a, b)", np.add)
    got = run(cpu, [call], [x, y], kind=kind, width=width, fast_math=False)[0]
    np.testing.assert_array_equal(got, np.broadcast_to(np.nextafter(x, y), got.shape))


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize(("kind", "unit"), [("float", 2.0**-23), ("half", 2.0**-10)])
def test_mix_and_smoothstep(cpu, kind, unit, width):
    generator = np.random.default_rng(5)
    a, b, c = generator.uniform(0.25, 1, (3, 4096)).astype(samples(kind, 8).dtype)
    calls = [
        Call("mix", "mix(a, b, c)", np.add),
        Call("mix", "mix(a, b, c[0])" if width > 1 else "mix(a, b, c)", np.add),
        Call("smoothstep", "smoothstep(a, a + b, c * 2)", np.add),
    ]
    mixed, scalar, smooth = run(cpu, calls, [a, b, c], kind=kind, width=width).astype(np.float64)
    x, y, t = (v.astype(np.float64) for v in (a, b, c))
    np.testing.assert_allclose(mixed, np.broadcast_to(x + (y - x) * t, mixed.shape), atol=3 * unit)
    np.testing.assert_allclose(scalar[0], x + (y - x) * t, atol=3 * unit)
    s = np.clip((2 * t - x) / y, 0, 1)
    want = s * s * (3 - 2 * s)
    np.testing.assert_allclose(smooth, np.broadcast_to(want, smooth.shape), atol=20 * unit)


def test_signs_of_zero(cpu):
    zero = np.array([-0.0, 0.0], np.float32)
    names = (
        "sign",
        "sqrt",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "round",
        "sin",
        "tan",
        "asin",
        "atan",
    )
    names += ("sinh", "tanh", "asinh", "atanh", "sinpi", "fabs")
    calls = [Call(name, f"{name}(a)", np.abs) for name in names]
    got = run(cpu, calls, [zero], kind="float", fast_math=False)
    for call, values in zip(calls, got[:, 0], strict=True):
        negative = [False, False] if call.name == "fabs" else [True, False]
        assert list(np.signbit(values)) == negative, call.name


@pytest.mark.parametrize("width", [1, 4])
def test_huge_angles(cpu, width):
    x = np.exp2(np.linspace(40, 127.9, 4096)).astype(np.float32)
    calls = [call for call in ONE if call.name in ("sin", "cos", "sincos")]
    got = run(cpu, calls, [x], kind="float", width=width, fast_math=True)
    assert np.isfinite(got).all()
    assert np.abs(got).max() <= 1


NAMESPACES = [call for call in ONE if "return" not in call.expression and call.name != "abs"]


@pytest.mark.parametrize("space", ["precise", "fast"])
def test_functions_of_both_namespaces(cpu, space):
    x = _angles(samples("float", 4096))
    calls = [Call(c.name, f"{space}::{c.expression}", c.oracle, c.ulps) for c in NAMESPACES]
    for fast in (True, False):
        bound = FAST if space == "fast" else {}
        _check(cpu, calls, [x], kind="float", width=1, fast=fast, bound=bound)
