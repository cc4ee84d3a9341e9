"""Test preprocess."""

import pytest

from metalbench.msl.toolchain.preprocess import preprocess

LOOP = "for (int k = 0; k < 16; ++k) x += k;"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#pragma unroll(N)", "#pragma unroll(4)"),
        ("#pragma unroll N", "#pragma unroll 4"),
        ("#pragma unroll(TWICE(N))", "#pragma unroll((2 * 4))"),
        ("#pragma clang loop unroll_count(N)", "#pragma clang loop unroll_count(4)"),
        ('_Pragma("unroll(N)")', "#pragma unroll(4)"),
        ("#pragma unroll(size)", "#pragma unroll(size)"),
        ("#pragma unroll(GIVEN)", "#pragma unroll(8)"),
        ("#pragma METAL internals : enable", "#pragma METAL internals : enable"),
    ],
)
def test_macros_in_pragmas_are_expanded(before, after):
    text = f"#define N 4\n#define TWICE(x) (2 * x)\n{before}\n{LOOP}\n"
    lines = preprocess(text, "kernel.metal", {"GIVEN": "8"}, []).splitlines()
    assert after in lines


def test_preprocess_hides_the_host():
    text = "\n".join(
        f"#ifdef {name}\n#error {name}\n#endif" for name in ("__linux__", "_WCHAR_T_DEFINED")
    )
    preprocess(text, "kernel.metal", {}, [])


def test_preprocess_works_in_the_root_folder(monkeypatch):
    monkeypatch.chdir("/")
    assert preprocess("int x;", "kernel.metal", {}, []).splitlines()[-1] == "int x;"


def test_preprocess_in_the_root_folder_reads_relative_paths(monkeypatch, tmp_path):
    (tmp_path / "own.h").write_text("int y;\n")
    monkeypatch.chdir("/")
    name = tmp_path.relative_to("/") / "own.h"
    text = preprocess(f'#include "{name}"\n#include <metal_stdlib>\n', "kernel.metal", {}, [])
    assert "int y;" in text.splitlines()
