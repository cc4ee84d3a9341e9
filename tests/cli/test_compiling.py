"""`metalbench compile`, from the command line to the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from metalbench.cli import main

SOURCE = """#include <metal_stdlib>
#include "scale.h"
using namespace metal;
constant bool negate [[function_constant(0)]];
kernel void scale(device const float4* x, device float4* y, texture2d<float> t, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
  y[i] = (negate ? -FACTOR : FACTOR) * scaled(x[i]);
}
template <typename T> kernel void sums(device const T* x, device T* y, threadgroup T* part,
                                       uint t [[thread_position_in_threadgroup]]) {
  part[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = part[t ^ 1];
}
template [[host_name("sums_half")]] kernel decltype(sums<half>) sums<half>;
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "scale.h").write_text("template <typename T> T scaled(T x) { return 2 * x; }\n")
    path = tmp_path / "scale.metal"
    path.write_text(SOURCE)
    return path


def command(*arguments: object, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["compile", *map(str, arguments)], input=given)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if "(" in line and "at most" not in line]


@pytest.mark.parametrize("checked", [[], ["--checked"]])
def test_every_kernel_is_compiled_and_reflected(file: Path, checked: list[str]) -> None:
    result = command(file, "-D", "FACTOR=3.0f", "--constant", "negate=true", *checked)
    assert result.exit_code == 0, result.output
    assert rows(result.stdout) == [
        ["x", "buffer(0)", "float4", "device", "read"],
        ["y", "buffer(1)", "float4", "device", "read_write"],
        ["t", "texture(0)", "texture2d<float>", "sample"],
        ["n", "buffer(2)", "uint", "constant", "read"],
        ["x", "buffer(0)", "half", "device", "read"],
        ["y", "buffer(1)", "half", "device", "read_write"],
        ["part", "threadgroup(0)", "half", "threadgroup", "read_write"],
    ]
    assert "scale  at most 1024 threads" in result.stdout
    assert result.stderr == ""


def test_compile_prints_errors_of_clang_and_compiles_the_others(file: Path) -> None:
    result = command(file, "--constant", "0=false")
    assert result.exit_code == 1
    first = result.stderr.splitlines()[0]
    assert first == f"{file}:7:21: error: use of undeclared identifier 'FACTOR'"
    assert "sums_half" in result.stdout
    assert "scale" not in result.stdout
    alone = command(file, "--function", "sums_half")
    assert (alone.exit_code, alone.stderr) == (0, "")


def test_compile_reports_an_error_of_two_kernels_once() -> None:
    source = "kernel void a() { oops; }\nkernel void b() {}"
    result = command("-", given=f"void oops( {{\n{source}")
    assert result.exit_code == 1
    assert result.stderr.startswith("<stdin>:1:")
    result = command("-", given=source)
    assert result.stderr.count("undeclared identifier 'oops'") == 1


def test_the_lowered_text_is_cpp(file: Path) -> None:
    result = command(file, "--function", "sums_half", "--emit", "cpp", "-D", "FACTOR")
    assert result.exit_code == 0, result.output
    assert "part[t ^ 1]" in result.stdout
    assert "MB_KERNEL(" in result.stdout
    assert "kernel void" not in result.stdout
    broken = command(file, "--function", "scale", "--emit", "cpp", "--constant", "negate=false")
    assert broken.exit_code == 1
    assert ":7:21: error: use of undeclared identifier 'FACTOR'" in broken.stderr


def test_the_text_for_a_gpu_is_ptx(file: Path) -> None:
    result = command(file, "--function", "sums_half", "--emit", "ptx", "-D", "FACTOR")
    assert result.exit_code == 0, result.output
    assert ".target sm_" in result.stdout
    assert "bar.sync" in result.stdout or "barrier.sync" in result.stdout
    checked = command(file, "--function", "sums_half", "--emit", "ptx", "-D", "FACTOR", "--checked")
    assert checked.exit_code == 2
    assert "expected no --checked" in checked.stderr


WAITING = """
kernel void waits(device uint* order, uint t [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint turn;
  if (t == 0) atomic_store_explicit(&turn, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  while (atomic_load_explicit(&turn, memory_order_relaxed) != t) {}
  order[t] = t;
  atomic_store_explicit(&turn, t + 1, memory_order_relaxed);
}
"""


def ways(text: str) -> dict[tuple[str, str], str]:
    """Return the table's rows about a kernel's builds."""
    lines = [line.split(maxsplit=2) for line in text.splitlines()[1:] if line]
    return {(line[0], line[1]): line[2] for line in lines if line[1] in ("plain", "checked")}


def test_compile_prints_the_execution_mode_with_its_reason(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METALBENCH_ENGINE", "vectors")
    file.write_text(SOURCE + WAITING)
    given = ["--emit", "engine", "-D", "FACTOR", "--constant", "negate=false"]
    result = command(file, *given)
    assert result.exit_code == 0, result.output
    found = ways(result.stdout)
    watched = "a checked build instruments every thread"
    for kernel in ("scale", "sums_half", "waits"):
        assert found[kernel, "checked"].split(maxsplit=1) == ["fibers", watched]
    assert found["scale", "plain"].split(maxsplit=1) == ["loops", "its threads do not synchronise"]
    assert found["sums_half", "plain"].startswith("vectors of 32, 16 or 8 threads ")
    kind, reason = found["waits", "plain"].split(maxsplit=1)
    assert kind == "fibers"
    assert "wait for each other" in reason
    only = command(file, *given, "--function", "waits", "--checked")
    assert list(ways(only.stdout)) == [("waits", "checked")]


def test_compile_reports_errors_of_both_builds_once(file: Path) -> None:
    result = command(file, "--constant", "0=false", "--emit", "engine")
    assert result.exit_code == 1
    assert "use of undeclared identifier 'FACTOR'" in result.stderr
    assert result.stderr == command(file, "--constant", "0=false").stderr
    assert set(ways(result.stdout)) == {("sums_half", "plain"), ("sums_half", "checked")}


def test_compile_checks_a_file_without_kernels(file: Path) -> None:
    result = command(file.with_name("scale.h"))
    assert (result.exit_code, result.stdout.strip()) == (0, "")
    assert "scale.h: has no kernel" in result.stderr
    wrong = file.with_name("wrong.h")
    wrong.write_text("inline float twice(float x) {\n  return 2 * y;\n}\n")
    result = command(wrong)
    assert result.exit_code == 1
    assert "wrong.h:2:14: error: use of undeclared identifier 'y'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--emit", "cpp"], 2, "expected --function with one of: scale, sums_half"),
        (["--function", "sum"], 1, "no kernel is named sum; expected one of: scale, sums_half"),
        (["-D", "=3"], 2, "expected NAME or NAME=VALUE, got =3"),
        (["--constant", "negate=maybe"], 2, "with true, false or a number, got negate=maybe"),
        (["--device", "metal"], 2, "metal"),
    ],
)
def test_compile_explains_wrong_usage(
    file: Path, arguments: list[str], code: int, words: str
) -> None:
    result = command(file, *arguments)
    assert result.exit_code == code
    assert words in " ".join(result.stderr.split())


def test_compile_refuses_a_missing_file() -> None:
    result = command("no/such.metal")
    assert result.exit_code == 2
    assert "no/such.metal cannot be read: No such file or directory" in result.stderr


WITH_A_LAMBDA = """
// value: n = 64
// buffer: x float32 (n) output
// dispatch: k threads_in_grid=(n) threads=(64)
kernel void k(device float* x, uint i [[thread_position_in_grid]]) {
  auto version = [] { return __METAL_VERSION__; };
  x[i] = version();
}
"""


@pytest.mark.parametrize("name", ["compile", "check"])
def test_std_selects_the_version_of_the_language(tmp_path: Path, name: str) -> None:
    path = tmp_path / "k.metal"
    path.write_text(WITH_A_LAMBDA)
    for options in ([], ["--std", "metal3.1"]):
        refused = CliRunner().invoke(main, [name, str(path), *options])
        assert refused.exit_code != 0
        assert "lambda expressions are not supported in Metal" in refused.output
    accepted = CliRunner().invoke(main, [name, str(path), "--std", "metal3.2"])
    assert accepted.exit_code == 0, accepted.output


HEADED = """// A kernel of the library: the comment `// Shape: n by 4` is not a header line.
// Shape: n by 4
// dispatch: twice threads_in_grid=(n) threads=(TG)
// tune: TG = 64, 128
// dtypes: float16, float32
kernel void twice(device const DTYPE* x, device DTYPE* y, uint i [[thread_position_in_grid]]) {
  y[i] = DTYPE(TG) * x[i];
}
"""


def test_compile_reads_the_header_of_a_kernel(tmp_path: Path) -> None:
    path = tmp_path / "twice.metal"
    path.write_text(HEADED)
    told = command(path)
    assert told.exit_code == 0, told.output
    assert "half" in told.output
    assert "float  device" in command(path, "--dtype", "float32").output
    assert "bfloat" in command(path, "-D", "DTYPE=bfloat").output
    told = command(path, "--dtype", "bfloat16")
    assert told.exit_code == 2
    assert "expected one of float16, float32 by the file's header" in told.output


def test_compile_says_that_a_wrong_header_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "twice.metal"
    path.write_text(HEADED.replace("TG = 64, 128", "TG = many"))
    told = command(path, "-D", "TG=1", "-D", "DTYPE=float")
    assert told.exit_code == 0, told.output
    assert "note: its header lines are not used: [twice] twice.metal:4" in told.output


def test_a_header_line_chooses_the_version_of_the_language(tmp_path: Path) -> None:
    text = """// std: metal4.0
// dispatch: k threadgroups=(1) threads=(1)
#include <metal_tensor>
using namespace metal;
kernel void k(tensor<device half, dextents<int, 2>> a) { a[0, 0] = 1; }
"""
    path = tmp_path / "k.metal"
    path.write_text(text)
    result = command(path)
    assert result.exit_code == 0, result.output
    assert "a.extents" in result.stdout
    older = command(path, "--std", "metal3.2")
    assert older.exit_code == 1
    assert "compile with --std metal4.0" in older.stderr
