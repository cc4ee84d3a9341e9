"""Test preprocess."""

import re
import subprocess

import pytest

from metalbench.msl.frontend.tokens import lex
from metalbench.msl.toolchain.clang import find_toolchain
from metalbench.msl.toolchain.preprocess import HOST_MACROS, expand_plain_source, preprocess

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


PLAIN = """\
#include <metal_stdlib>
using namespace metal;

namespace n { template <typename T> T twice(T x) { return x + x; } }
kernel void f(
    device float* a [[buffer(0)]],
    uint i [[thread_position_in_grid]]) {
  a[i] = n::twice(a[i] * 1.5e-3f) ;
}
"""


def list_tokens(text):
    tokens = lex(text)
    return [(each, tokens.locate_token(at).line) for at, each in enumerate(tokens.text)]


def test_a_plain_source_is_expanded_as_clang_does(monkeypatch):
    found = expand_plain_source(PLAIN, "kernel.metal", {})
    monkeypatch.setattr("metalbench.msl.toolchain.preprocess.expand_plain_source", lambda *_: None)
    assert list_tokens(found) == list_tokens(preprocess(PLAIN, "kernel.metal", {}, []))
    tokens = lex(found)
    assert str(tokens.locate_token(tokens.text.index("kernel"))).startswith("kernel.metal:5")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a[i] =", "assert(a[i] > 0); a[i] ="),
        ("a[i] =", "a[i] = GIVEN * "),
        ("a[i] =", "a[i] = __LINE__ * "),
        ("a[i] =", "_Pragma(x) a[i] ="),
        ("kernel", "#define X 1\nkernel"),
        ("kernel", "METAL_FUNC int g() { return 1; }\nkernel"),
        (" ;", " // ;\n;"),
        (" ;", " /* ; */;"),
        (" ;", " \\\n;"),
        ("a[i] =", 'constexpr char c = "??/""[0]; a[i] ='),
        ("device float*", "device vec<:float, 1:>*"),
        ("twice(T x)", "twice(T \u00e4)"),
    ],
)
def test_other_sources_are_expanded_by_clang(old, new):
    assert expand_plain_source(PLAIN, "kernel.metal", {"GIVEN": "2"}) is not None
    assert expand_plain_source(PLAIN.replace(old, new), "kernel.metal", {"GIVEN": "2"}) is None


def test_all_macros_of_clang_begin_with_an_underscore_or_are_known():
    listed = "\n".join(
        f"#ifdef {name}\n{name}_is_defined\n#endif" for name in ("linux", "unix", "assert", "i386")
    )
    expanded = preprocess(f"#include <metal_stdlib>\n{listed}", "kernel.metal", {}, [])
    assert set(re.findall(r"(\w+)_is_defined", expanded)) == {"assert"}
    names = re.findall(
        r"#define (\w+)",
        subprocess.run(
            [*find_toolchain().clang, "-dM", "-E", "-x", "c++", "-std=c++17", "-"],
            input="",
            capture_output=True,
            text=True,
            check=True,
        ).stdout,
    )
    assert {each for each in names if each[0] != "_"} <= set(HOST_MACROS)
