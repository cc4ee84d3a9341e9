"""Identity of kernels by their texts, with defaults in the text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from work_in_vain import KERNEL

from agent_steel.source import source_key, with_defaults, with_source
from metalbench.kernel.header import Kernel, parse
from metalbench.kernel.library import Library

LINE = "// dispatch: twice  threads_in_grid=(n)  threads=(64)"


def key(source: str, **tunables: int) -> str:
    return source_key(parse(source, name="twice"), tunables)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("float v = x[i];", "float v = x[i];  // read once"),
        ("float v = x[i];", "float   v=\n    x[i] ;"),
        ("kernel void", "/* twice\n as much */ kernel void"),
        ("// Twice the input.\n", "// Other words.\n// And more.\n"),
        (LINE, "//   dispatch: twice threads_in_grid=( n ) threads=( 64 )"),
        ("WORK = 400, 0, 100", "WORK = 400, 7"),
        ("#include <metal_stdlib>", "#  include <metal_stdlib>  // for fma"),
    ],
)
def test_comments_spacing_and_offered_values_do_not_count(part: str, other: str) -> None:
    assert part in KERNEL
    assert key(KERNEL.replace(part, other)) == key(KERNEL)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("float v", "half v"),
        ("threads=(64)", "threads=(32)"),
        ("threads_in_grid=(n)", "threads_in_grid=(n * 1)"),
        ("WORK = 400, 0, 100", "WORK = 0, 400, 100"),
        ("#include", "// math: fast\n#include"),
        ("  for (", "#pragma unroll\n  for ("),
        ("2 * x[i]", "2*x [i] + 0"),
        ("// tune", "// scratch: part float32 (32)\n// tune"),
    ],
)
def test_key_depends_on_code_and_launch(part: str, other: str) -> None:
    assert part in KERNEL
    assert key(KERNEL.replace(part, other)) != key(KERNEL)


def test_a_default_and_the_same_value_chosen_are_the_same() -> None:
    assert key(KERNEL, WORK=400) == key(KERNEL)
    assert key(KERNEL, WORK=0) != key(KERNEL)
    assert key(with_defaults(KERNEL, {"WORK": 0}, dtype="float32")) == key(KERNEL, WORK=0)


def test_key_depends_on_included_headers(tmp_path: Path) -> None:
    def kernel() -> Kernel:
        text = KERNEL.replace("using", '#include "mine.h"\nusing')
        return parse(text, name="twice", path=tmp_path / "twice.metal")

    header = tmp_path / "mine.h"
    header.write_text("inline float f() { return 1; }\n")
    one = source_key(kernel(), {})
    header.write_text("inline float f() { return 1; }  // one\n")
    assert source_key(kernel(), {}) == one
    header.write_text("inline float f() { return 2; }\n")
    assert source_key(kernel(), {}) != one


def test_every_kernel_of_the_library_is_another_one() -> None:
    kernels = [entry.kernel() for entry in Library()]
    assert len({source_key(kernel, {}) for kernel in kernels}) == len(kernels)


def test_values_become_the_defaults_of_their_lines() -> None:
    text = with_defaults(
        KERNEL + "// tune: OTHER = 1, 2\n", {"WORK": 100, "MISSING": 3}, dtype="float32"
    )
    assert "// tune: WORK = 100, 400, 0\n" in text
    assert "// tune: OTHER = 1, 2\n" in text
    assert parse(
        with_defaults(KERNEL, {"WORK": 7}, dtype="float32"), name="twice"
    ).resolve_tunables() == {"WORK": 7}


def test_found_values_are_the_defaults_on_every_device() -> None:
    both = "// tune: OTHER = 1, 2\n// defaults: cuda OTHER = 2, WORK = 0\n" + KERNEL
    text = with_defaults(both, {"WORK": 100}, dtype="float32")
    assert "// defaults: cuda OTHER = 2\n" in text
    assert parse(text, name="twice").on(("cuda",)).resolve_tunables() == {"WORK": 100, "OTHER": 2}
    assert "defaults" not in with_defaults(both, {"WORK": 100, "OTHER": 1}, dtype="float32")


@pytest.mark.parametrize(
    ("dtype", "lines"),
    [
        ("float32", ["cuda float16 bfloat16 OTHER = 2, WORK = 0"]),
        ("bfloat16", ["cuda float16 OTHER = 2, WORK = 0", "cuda bfloat16 OTHER = 2"]),
    ],
)
def test_defaults_of_other_element_types_stay(dtype: str, lines: list[str]) -> None:
    said = "// defaults: cuda float16 bfloat16 OTHER = 2, WORK = 0\n"
    text = with_defaults(said + KERNEL, {"WORK": 100}, dtype=dtype)
    assert re.findall("// defaults: (.*)", text) == lines
    alone = said.replace("float16 bfloat16", dtype)
    assert "defaults" not in with_defaults(alone + KERNEL, {"WORK": 1, "OTHER": 1}, dtype=dtype)


def test_a_text_in_the_place_of_another_has_the_defaults_of_the_same_device() -> None:
    both = "// defaults: cuda WORK = 0\n" + KERNEL
    kernel = parse(both, name="twice").on(("cuda",))
    assert with_source(kernel, both + "// More.\n").resolve_tunables() == {"WORK": 0}


def test_a_text_takes_the_place_of_another_with_its_folders(tmp_path: Path) -> None:
    kernel = parse(KERNEL, name="twice", path=tmp_path / "twice.m4.metal", chip="m4")
    other = with_source(kernel, KERNEL.replace("64", "32"))
    assert (other.path, other.chip, other.name) == (kernel.path, "m4", "twice")
    assert other.hash != kernel.hash
