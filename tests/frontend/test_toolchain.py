import re
import subprocess
import sys
from dataclasses import replace

import pytest

from metalbench._core import CompileError, Unsupported
from metalbench.msl import engine
from metalbench.msl.toolchain import clang
from metalbench.msl.toolchain.clang import ELF
from metalbench.msl.toolchain.preprocess import preprocess


def test_the_compiler_says_its_version():
    assert "clang version" in engine.find_toolchain().version


def test_a_missing_named_compiler_is_refused(monkeypatch):
    monkeypatch.setenv("METALBENCH_CLANG", "/nowhere/clang")
    with pytest.raises(Unsupported, match="METALBENCH_CLANG: expected a clang, got /nowhere/clang"):
        engine.find_toolchain()


def test_a_missing_compiler_is_reported_with_advice(monkeypatch):
    monkeypatch.delenv("METALBENCH_CLANG", raising=False)
    found = clang.importlib.util.find_spec

    def without_ziglang(name):
        return None if name == "ziglang" else found(name)

    monkeypatch.setattr(clang.importlib.util, "find_spec", without_ziglang)
    clang._find_by_name.cache_clear()
    with pytest.raises(Unsupported, match="pip install ziglang"):
        engine.find_toolchain()
    monkeypatch.undo()
    clang._find_by_name.cache_clear()
    assert engine.find_toolchain().clang


def test_another_clang_can_be_named(tmp_path, monkeypatch):
    real = engine.find_toolchain()
    for name, command in (("clang", real.clang), ("ld.lld", real.linker)):
        script = tmp_path / name
        script.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("METALBENCH_CLANG", str(tmp_path / "clang"))
    assert engine.find_toolchain().clang == (str(tmp_path / "clang"),)
    assert engine.build(engine.parse("kernel void f(device int* a) { *a = 1; }"), "f").path


def test_the_key_changes_with_the_headers(tmp_path):
    real = engine.find_toolchain()
    (tmp_path / "mb").mkdir()
    (tmp_path / "mb" / "a.h").write_text("1")
    one = clang.Toolchain(real.clang, real.linker, tmp_path).key
    (tmp_path / "mb" / "a.h").write_text("2")
    assert clang.Toolchain(real.clang, real.linker, tmp_path).key != one


@pytest.mark.parametrize(
    "header", ["metal_stdlib", "metal_simdgroup_matrix", "simd/simd.h", "metal_atomic"]
)
def test_metals_headers_are_empty_for_the_preprocessor(header):
    text = preprocess(f"#include <{header}>\nint x;", "k.metal", {}, [])
    assert [line for line in text.splitlines() if line and line[0] != "#"] == ["int x;"]


def test_sources_see_metal_and_not_the_host():
    names = "__METAL_VERSION__ __METAL__ __HAVE_BFLOAT__ __linux__ __x86_64__ __aarch64__ linux"
    text = preprocess(f"[{names}]", "k.metal", {}, []).splitlines()[-1]
    assert text == "[310 1 1 __linux__ __x86_64__ __aarch64__ linux]"


@pytest.fixture
def compile_for_aarch64():
    """Return a function that compiles C++ with a kernel's flags for the least aarch64 processor."""
    triple = "aarch64-unknown-linux-gnu"
    goal = replace(ELF, triple=triple, compiler=(f"--target={triple}", "-march=armv8-a"))
    options = clang.list_flags(checked=False, fast_math=False, goal=goal)
    command = [*engine.find_toolchain().clang, "-S", *options, "-x", "c++", "-", "-o", "-"]

    def compile_text(text):
        answer = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    return compile_text


def test_flags_make_char_signed_on_aarch64(compile_for_aarch64):
    compile_for_aarch64("static_assert(char(-1) < 0);")


def test_flags_have_no_calls_for_atomics_on_aarch64(compile_for_aarch64):
    code = compile_for_aarch64("int add(int* p) { return __atomic_fetch_add(p, 1, 0); }")
    assert "ldxr" in code
    assert "__aarch64_" not in code


@pytest.mark.parametrize(
    ("fast_math", "flags"), [(True, "reassoc nsz arcp contract afn"), (False, "")]
)
def test_fast_math_is_metals_relaxed_math(fast_math, flags):
    options = clang.list_flags(checked=False, fast_math=fast_math, passes=["-O1"])
    command = [*engine.find_toolchain().clang, "-S", "-emit-llvm", *options, "-x", "c++", "-"]
    answer = subprocess.run(
        [*command, "-o", "-"],
        input="float product(float a, float b) { return a * b; }",
        capture_output=True,
        text=True,
        check=True,
    )
    # Neither `nnan` nor `ninf`, which are in MTLMathModeFast.
    assert re.findall("fmul (.*)float", answer.stdout) == [f"{flags} ".lstrip()]


def test_preprocess_makes_char_signed():
    source = "#if defined(__CHAR_UNSIGNED__) || '\\xff' > 0\nunsigned\n#else\nsigned\n#endif"
    assert preprocess(source, "k.metal", {}, []).split()[-1] == "signed"


def test_macros_reach_the_source():
    text = preprocess(
        "TG EMPTY DTYPE", "k.metal", {"TG": "128", "EMPTY": "", "DTYPE": "vec<half, 4>"}, []
    )
    assert text.splitlines()[-1].split() == ["128", "vec<half,", "4>"]


def test_importing_the_engine_is_light():
    code = "import sys, metalbench.msl.engine; print({n.split('.')[0] for n in sys.modules})"
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert not any(name in listed for name in ("'numpy'", "'elftools'", "'platformdirs'", "'mlx'"))


def test_metals_own_macro_for_functions_is_known():
    text = "METAL_FUNC int g() { return 1; } kernel void f(device int* a) { *a = g(); }"
    assert engine.build(engine.parse(text), "f").path
    redefined = "#define METAL_FUNC static\n" + text
    assert engine.build(engine.parse(redefined), "f").path


def test_a_compiler_crash_differs_from_a_wrong_kernel(tmp_path, monkeypatch):
    real = engine.find_toolchain()
    script = tmp_path / "clang"
    forward = f'exec {" ".join(real.clang)} "$@"'
    script.write_text(f'#!/bin/sh\ncase "$1" in -E) {forward};; esac\nkill -SEGV $$\n')
    script.chmod(0o755)
    monkeypatch.setenv("METALBENCH_CLANG", str(script))
    with pytest.raises(CompileError, match=r"crashed on this source.*SIGSEGV"):
        engine.build(engine.parse("kernel void f(device int* a) { *a = 1; }"), "f")
