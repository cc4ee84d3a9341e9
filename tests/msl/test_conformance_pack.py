"""Chapter 6.14: pack and unpack functions, over every value of every field."""

from __future__ import annotations

import numpy as np
import pytest
from msl.conformance import TYPES, Call, run

# Bits of each field from the lowest on, and whether they are signed.
LAYOUTS = {
    "unorm4x8": ([8, 8, 8, 8], False),
    "snorm4x8": ([8, 8, 8, 8], True),
    "unorm2x16": ([16, 16], False),
    "snorm2x16": ([16, 16], True),
    "unorm10a2": ([10, 10, 10, 2], False),
    "unorm565": ([5, 6, 5], False),
    "srgb_unorm4x8": ([8, 8, 8, 8], False),
}
KINDS = ["float", "half"]
COVERS = {
    "6.14 Pack functions": {f"pack_{kind}_to_{name}" for kind in KINDS for name in LAYOUTS},
    "6.14 Unpack functions": {
        f"unpack_{'unorm4x8_srgb' if name.startswith('srgb') else name}_to_{kind}"
        for kind in KINDS
        for name in LAYOUTS
    },
}


def _to_srgb(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0.0031308, 12.92 * x, 1.055 * np.power(x, 1 / 2.4) - 0.055)


def _from_srgb(x: np.ndarray) -> np.ndarray:
    return np.where(x <= 0.04045, x / 12.92, np.power((x + 0.055) / 1.055, 2.4))


def _fields(packed: np.ndarray, bits: list[int], signed: bool) -> list[np.ndarray]:
    fields, shift = [], 0
    for width in bits:
        field = packed.astype(np.int64) >> shift & ((1 << width) - 1)
        fields.append(np.where(signed & (field >> (width - 1) == 1), field - (1 << width), field))
        shift += width
    return fields


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_pack(cpu, name, kind):
    bits, signed = LAYOUTS[name]
    generator = np.random.default_rng(3)
    x = generator.uniform(-1.25, 1.25, (len(bits), 4096)).astype(TYPES[kind])
    # Arguments of the call: the fourth component is the second one again.
    x[:, :6] = np.array([np.nan, -0.0, 0, 1, -1, 2])
    components = list(x)
    letters = "abc"[: min(3, len(bits))]
    vector = f"{kind}{len(bits)}({', '.join(letters)}{', b' if len(bits) == 4 else ''})"
    call = Call(name, f"pack_{kind}_to_{name}({vector})", np.abs)
    packed = run(cpu, [call], components[:3], kind=kind, result="uint")[0, 0]
    order = [0, 1, 2, 1][: len(bits)]
    for j, (width, field) in enumerate(zip(bits, _fields(packed, bits, signed), strict=True)):
        value = np.nan_to_num(components[order[j]].astype(np.float64), nan=0.0)
        clamped = np.clip(value, -1 if signed else 0, 1)
        if name.startswith("srgb") and j < 3:
            clamped = _to_srgb(clamped)
        scaled = clamped * ((1 << (width - signed)) - 1)
        assert np.abs(field - scaled).max() <= 0.505 + 2e-2 * name.startswith("srgb")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_unpack(cpu, name, kind):
    bits, signed = LAYOUTS[name]
    generator = np.random.default_rng(4)
    packed = generator.integers(0, 1 << sum(bits), 8192, dtype=np.uint64).astype(np.uint32)
    packed[:2] = 0, (1 << sum(bits)) - 1
    function = f"unpack_{'unorm4x8_srgb' if name.startswith('srgb') else name}_to_{kind}"
    calls = [Call(name, f"{function}(a)[{j}]", np.abs) for j in range(len(bits))]
    got = run(cpu, calls, [packed], kind="uint", result=kind)[:, 0].astype(np.float64)
    for j, (width, field) in enumerate(zip(bits, _fields(packed, bits, signed), strict=True)):
        want = np.maximum(field / ((1 << (width - signed)) - 1), -1)
        if name.startswith("srgb") and j < 3:
            want = _from_srgb(want)
        tolerance = 2.0 ** (-22 if kind == "float" else -11)
        np.testing.assert_allclose(got[j], want, rtol=1.5 * tolerance, atol=2.0**-24)
