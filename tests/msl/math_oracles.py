"""Oracles of the common and math functions, with the accuracy of the specification's tables."""

from __future__ import annotations

import numpy as np
from msl.conformance import Call


def _quarters(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x = k/2 + rest, exactly: k mod 4 and pi rest."""
    turn = np.fmod(x, 2.0)
    k = np.rint(2 * turn)
    return k % 4, np.pi * (turn - k / 2)


def _sinpi(x: np.ndarray) -> np.ndarray:
    k, rest = _quarters(x)
    odd, negative = k % 2 == 1, k >= 2
    return np.where(negative, -1.0, 1.0) * np.where(odd, np.cos(rest), np.sin(rest))


def _cospi(x: np.ndarray) -> np.ndarray:
    k, rest = _quarters(x)
    odd, negative = k % 2 == 1, (k == 1) | (k == 2)
    return np.where(negative, -1.0, 1.0) * np.where(odd, np.sin(rest), np.cos(rest))


def _smaller(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.fmin(x, y)


def _median(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.fmax(np.fmin(x, y), np.fmin(np.fmax(x, y), z))


def _clamp(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.fmin(np.fmax(x, np.fmin(low, high)), np.fmax(low, high))


def _fract(x: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(x), 0.0, x - np.floor(x))


def _fdim(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x > y, x - y, 0.0))


def _sign(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), 0.0, np.sign(x))


def _ldexp(x: np.ndarray) -> np.ndarray:
    return x * 8.0


def _round(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _powr(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    undefined = (x < 0) | np.isnan(y) | np.isnan(x)
    undefined |= (y == 0) & ((x == 0) | np.isinf(x)) | (x == 1) & np.isinf(y)
    return np.where(undefined, np.nan, np.power(np.abs(x), y))


def _ten(x: np.ndarray) -> np.ndarray:
    return np.power(10.0, x)


def _integral(x: np.ndarray) -> np.ndarray:
    return np.modf(x)[1]


def _fraction(x: np.ndarray) -> np.ndarray:
    return np.modf(x)[0]


def _mantissa(x: np.ndarray) -> np.ndarray:
    return np.frexp(x)[0]


def _exponent(x: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.float64)


ONE = [
    Call("acos", "acos(a)", np.arccos, 4),
    Call("acosh", "acosh(a)", np.arccosh, 4),
    Call("asin", "asin(a)", np.arcsin, 4),
    Call("asinh", "asinh(a)", np.arcsinh, 4),
    Call("atan", "atan(a)", np.arctan, 5),
    Call("atanh", "atanh(a)", np.arctanh, 5),
    Call("ceil", "ceil(a)", np.ceil),
    Call("cos", "cos(a)", np.cos, 4),
    Call("cosh", "cosh(a)", np.cosh, 4),
    Call("cospi", "cospi(a)", _cospi, 4),
    Call("exp", "exp(a)", np.exp, 4),
    Call("exp2", "exp2(a)", np.exp2, 4),
    Call("exp10", "exp10(a)", _ten, 4),
    Call("fabs", "fabs(a)", np.abs, 0),
    Call("abs", "abs(a)", np.abs, 0),
    Call("floor", "floor(a)", np.floor),
    Call("fract", "fract(a)", _fract, 1),
    Call("frexp", "([&]{ I e; return frexp(a, e); }())", _mantissa, 0),
    Call("ldexp", "ldexp(a, I(3))", _ldexp),
    Call("log", "log(a)", np.log, 4),
    Call("log2", "log2(a)", np.log2, 4),
    Call("log10", "log10(a)", np.log10, 4),
    Call("modf", "([&]{ V w; return modf(a, w); }())", _fraction, 0),
    Call("modf", "([&]{ V w; modf(a, w); return w; }())", _integral, 0),
    Call("rint", "rint(a)", np.rint),
    Call("round", "round(a)", _round),
    Call("rsqrt", "rsqrt(a)", lambda x: 1 / np.sqrt(x)),
    Call("saturate", "saturate(a)", lambda x: np.fmin(np.fmax(x, 0), 1), 0),
    Call("sign", "sign(a)", _sign, 0),
    Call("sin", "sin(a)", np.sin, 4),
    Call("sincos", "([&]{ V c; return sincos(a, c); }())", np.sin, 4),
    Call("sincos", "([&]{ V c; sincos(a, c); return c; }())", np.cos, 4),
    Call("sinh", "sinh(a)", np.sinh, 4),
    Call("sinpi", "sinpi(a)", _sinpi, 4),
    Call("sqrt", "sqrt(a)", np.sqrt),
    Call("tan", "tan(a)", np.tan, 6),
    Call("tanh", "tanh(a)", np.tanh, 5),
    Call("tanpi", "tanpi(a)", lambda x: _sinpi(x) / _cospi(x), 6),
    Call("trunc", "trunc(a)", np.trunc),
]
TWO = [
    Call("atan2", "atan2(a, b)", np.arctan2, 6),
    Call("copysign", "copysign(a, b)", np.copysign, 0),
    Call("divide", "divide(a, b)", np.divide),
    Call("fdim", "fdim(a, b)", _fdim),
    Call("fmax", "fmax(a, b)", np.fmax, 0),
    Call("max", "max(a, b)", np.fmax, 0),
    Call("fmin", "fmin(a, b)", _smaller, 0),
    Call("min", "min(a, b)", _smaller, 0),
    Call("fmod", "fmod(a, b)", np.fmod, 0),
    Call("pow", "pow(a, b)", np.power, 16),
    Call("powr", "powr(a, b)", _powr, 16),
    Call("step", "step(a, b)", lambda x, y: np.where(y < x, 0.0, 1.0), 0),
]
THREE = [
    Call("clamp", "clamp(a, min(b, c), max(b, c))", _clamp, 0),
    Call("fmax3", "fmax3(a, b, c)", lambda x, y, z: np.fmax(x, np.fmax(y, z)), 0),
    Call("max3", "max3(a, b, c)", lambda x, y, z: np.fmax(x, np.fmax(y, z)), 0),
    Call("fmin3", "fmin3(a, b, c)", lambda x, y, z: np.fmin(x, np.fmin(y, z)), 0),
    Call("min3", "min3(a, b, c)", lambda x, y, z: np.fmin(x, np.fmin(y, z)), 0),
    Call("fmedian3", "fmedian3(a, b, c)", _median, 0),
    Call("median3", "median3(a, b, c)", _median, 0),
]
