"""The `// defaults:` lines: values of tunables for some devices alone."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from metalbench.errors import DeclarationError
from metalbench.kernel.header import device_names, parse
from metalbench.kernel.library import Library

TEXT = """\
// dispatch: f  threadgroups=(1)  threads=(TG)
// defaults: cuda TG = 128, KEEP = 1
// defaults: h100 TG = 256
// defaults: m4 KEEP = 1
// tune: TG = 64, 128, 256
// tune: KEEP = 4, 1
"""


@dataclass(frozen=True)
class Device:
    kind: str
    chip: str | None = None


@pytest.mark.parametrize(
    ("device", "values"),
    [
        (Device("cpu"), {"TG": 64, "KEEP": 4}),
        (Device("cuda"), {"TG": 128, "KEEP": 1}),
        (Device("cuda", "a100"), {"TG": 128, "KEEP": 1}),
        (Device("cuda", "h100"), {"TG": 256, "KEEP": 1}),
        (Device("metal", "m4_max"), {"TG": 64, "KEEP": 1}),
        (Device("metal", "m3"), {"TG": 64, "KEEP": 4}),
    ],
)
def test_the_most_special_line_counts_for_each_tunable(device, values):
    kernel = parse(TEXT, name="f").on(device_names(device))
    assert kernel.resolve_tunables() == values
    assert kernel.resolve_tunables({"TG": 64}) == {**values, "TG": 64}


def test_defaults_keep_all_values_and_the_text():
    kernel = parse(TEXT, name="f")
    other = kernel.on(("cuda",))
    assert other.tunables == {"TG": (128, 64, 256), "KEEP": (1, 4)}
    assert (other.hash, other.target) == (kernel.hash, ("cuda",))


@pytest.mark.parametrize(
    ("device", "dtype", "values"),
    [
        (Device("cuda"), "float32", {"TG": 128, "KEEP": 1}),
        (Device("cuda"), "float16", {"TG": 64, "KEEP": 1}),
        (Device("cuda"), "bfloat16", {"TG": 64, "KEEP": 1}),
        (Device("cuda"), None, {"TG": 128, "KEEP": 1}),
        (Device("cuda", "h100"), "float16", {"TG": 256, "KEEP": 1}),
        (Device("cpu"), "float16", {"TG": 64, "KEEP": 4}),
    ],
)
def test_a_line_for_one_dtype_precedes_the_line_for_all(device, dtype, values):
    text = (
        f"// dtypes: float32, float16, bfloat16\n// defaults: cuda float16 bfloat16 TG = 64\n{TEXT}"
    )
    kernel = parse(text, name="f").on(device_names(device))
    assert kernel.resolve_tunables(dtype=dtype) == values
    assert kernel.resolve_tunables({"TG": 256}, dtype=dtype)["TG"] == 256


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cdua TG = 128", "2:14: expected cpu, .*got 'cdua'; did you mean 'cuda'. write"),
        ("cuda", "2:18: expected the name of a tunable, got the end of the line"),
        ("cuda TG = 96", "2: expected one of the values of `// tune: TG`, 64, 128; got 96"),
        ("cuda TGS = 64", "2: unknown tunable 'TGS'; did you mean 'TG'"),
        ("cuda TG = 64, TG = 128", "2:28: expected a tunable that the line does not have"),
        ("cuda TG = 64\n// defaults: cuda TG = 128", "3: the defaults on cuda are declared twice"),
        (
            "cuda float16 float32 TG = 64\n// defaults: cuda float16 TG = 128\n"
            "// dtypes: float32, float16",
            "3: the defaults on cuda in float16 are declared twice",
        ),
        ("cuda float16", "2:26: expected the name of a tunable, got the end of the line"),
        ("cuda TG = 64, float16 TG = 128", "2:28: expected a tunable that the line does not have"),
        ("cuda half TG = 64", "2:19: expected an element type, or a tunable .* got 'half'; write"),
        ("cuda float61 TG = 64", "2:19: .* got 'float61'; did you mean 'float16'"),
        ("cuda float16 flaot32 TG = 64", "2:27: .* got 'flaot32'; did you mean 'float32'"),
        ("float16 TG = 64", "2:14: expected cpu, cuda, metal or a chip, .*got 'float16'"),
        (
            "cuda bfloat16 TG = 64\n// dtypes: float32, float16",
            "2: expected an element type that the kernel is written for, float32, float16; got bf",
        ),
    ],
)
def test_a_wrong_line_is_named(line, message):
    dispatch = "// dispatch: f threadgroups=(1) threads=(TG)"
    text = f"{dispatch}\n// defaults: {line}\n// tune: TG = 64, 128\n"
    with pytest.raises(DeclarationError, match=rf"\[f\] f.metal:{message}"):
        parse(text, name="f")


def test_cumulative_sums_of_the_library_have_defaults_of_each_device():
    entry = Library().entry("cumsum")
    gpu = {"TG": 1024, "QUADS": 1, "LEAST": 32}
    assert entry.kernel().resolve_tunables() == gpu
    assert entry.kernel(Device("metal", "m4_max")).resolve_tunables() == gpu
    assert entry.kernel(Device("cuda", "h100")).resolve_tunables() == {
        "TG": 128,
        "QUADS": 1,
        "LEAST": 1024,
    }
    assert entry.kernel(Device("cpu")).resolve_tunables() == {"TG": 64, "QUADS": 4, "LEAST": 1024}
