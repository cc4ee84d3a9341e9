"""The header <metal_limits>."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from msl.conformance import FLOATS, INFOS, INTEGERS, TYPES, Call, run

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
INVENTORY = tomllib.loads((Path(__file__).parent / "inventory.toml").read_text())


@pytest.mark.parametrize("kind", [*FLOATS, *INTEGERS])
def test_numeric_limits(cpu, kind):
    names = ["min", "lowest", "max", "epsilon", "infinity", "denorm_min", "round_error"]
    calls = [Call(name, f"numeric_limits<{kind}>::{name}()", np.abs) for name in names]
    one = np.ones(1, TYPES[kind])
    got = dict(zip(names, run(cpu, calls, [one], kind=kind)[:, 0, 0].tolist(), strict=True))
    if kind in FLOATS:
        info = INFOS[kind]
        want = [info.tiny, info.min, info.max, info.eps, math.inf, info.smallest_subnormal, 0.5]
    else:
        ends = np.iinfo(TYPES[kind])
        want = [ends.min, ends.min, ends.max, 0, 0, 0, 0]
    assert got == {name: type(got[name])(v) for name, v in zip(names, want, strict=True)}
    members = ["digits", "radix", "is_signed", "is_integer", "has_infinity", "max_exponent"]
    members += ["min_exponent", "max_exponent10", "min_exponent10", "digits10", "max_digits10"]
    calls = [Call(name, f"numeric_limits<{kind}>::{name}", np.abs) for name in members]
    got = run(cpu, calls, [one], kind=kind, result="int")[:, 0, 0].tolist()
    if kind in FLOATS:
        log2 = math.log10(2)
        digits = INFOS[kind].nmant + 1
        high, low = INFOS[kind].maxexp, INFOS[kind].minexp + 1
        want = [digits, 2, 1, 0, 1, high, low, int(high * log2), math.ceil((low - 1) * log2)]
        want += [int((digits - 1) * log2), math.ceil(1 + digits * log2)]
    else:
        ends = np.iinfo(TYPES[kind])
        digits = ends.bits - (ends.min < 0)
        want = [digits, 2, ends.min < 0, 1, 0, 0, 0, 0, 0, int(digits * math.log10(2)), 0]
    assert got == [int(value) for value in want]


def test_limits_that_are_flags(compiles):
    compiles("""
        using F = numeric_limits<float>;
        using I = numeric_limits<int>;
        static_assert(F::is_specialized && !F::is_exact && F::has_quiet_NaN);
        static_assert(F::has_signaling_NaN);
        static_assert(F::is_iec559 && F::is_bounded && !F::is_modulo && !F::traps);
        static_assert(F::round_style == round_to_nearest && F::has_denorm == denorm_present);
        static_assert(!F::has_denorm_loss && !F::tinyness_before && isnan(F::quiet_NaN()));
        static_assert(isnan(F::signaling_NaN()) && isnan(numeric_limits<half>::quiet_NaN()));
        static_assert(I::is_exact && I::is_bounded && !I::has_quiet_NaN && !I::is_iec559);
        static_assert(I::round_style == round_toward_zero && I::has_denorm == denorm_absent);
        static_assert(numeric_limits<uint>::is_modulo && numeric_limits<bool>::max() == true);
        static_assert(I::quiet_NaN() == 0 && I::signaling_NaN() == 0 && !I::has_signaling_NaN);
    """)


OWN_LIMITS = """
    struct Fixed {
      int bits;
      constexpr bool operator<(Fixed other) const { return bits < other.bits; }
    };
    struct Plain {};
    struct Other {};
    namespace metal {
    template <> struct _numeric_limits_impl<Fixed> : _fp_numeric_limits_impl_base {
      static constexpr constant int digits = 15;
      static constexpr Fixed max() { return Fixed{32767}; }
      static constexpr Fixed lowest() { return Fixed{-32768}; }
    };
    }
    template <typename T> struct Pair { T a, b; };
    template <typename T> struct metal::_numeric_limits_impl<Pair<T>> {
      static constexpr Pair<T> max() { return {numeric_limits<T>::max(), 0}; }
    };
    static_assert(numeric_limits<Fixed>::max().bits == 32767 && numeric_limits<Fixed>::digits == 15);
    static_assert(metal::numeric_limits<const Fixed>::lowest() < Fixed{0});
    static_assert(numeric_limits<Fixed>::is_specialized && !numeric_limits<Fixed>::is_integer);
    static_assert(numeric_limits<Pair<uchar>>::max().a == 255);
    static_assert(!numeric_limits<Plain>::is_specialized && numeric_limits<short2>::max() == 32767);
    template <> struct metal::numeric_limits<Other> { static constexpr constant int digits = 3; };
    static_assert(numeric_limits<Other>::digits == 3);
"""


def test_limits_of_user_types(compiles):
    compiles(OWN_LIMITS)


# Limits are named in the tests above one by one.
COVERS = {"6 Numeric limits": set(INVENTORY["6 Numeric limits"]["functions"])}
