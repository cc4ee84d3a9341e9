"""Test the limits of clang's processor time for large and intricate code."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from metalbench.msl import engine
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.toolchain import compile, compile_kernel
from metalbench.msl.toolchain.run_tool import TooSlowError
from metalbench.msl.transforms import block_layout
from metalbench.msl.vectorize.body import LaunchShape
from metalbench.msl.vectorize.module import vectorize_module

sys.path.append(str(Path(__file__).parents[2]))
from benchmarks.generated_kernels import KINDS as GENERATED_KINDS
from benchmarks.generated_kernels import generate_source

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


def lines_of(kind: str, count: int) -> tuple[str, str]:
    """Declarations and the body of a kernel, whose size is proportional to `count`."""
    each = range(count)
    body = {
        "selects": "".join(f"a = a < x[{k}] ? x[{k}] : a;" for k in each),
        "statements": "".join(f"a = a * x[i + {k}] + {k};" for k in each),
        "branches": "".join(f"if (x[{k}] > a) a += x[i + {k}];" for k in each),
        "nested": "".join(f"if (x[{k}] > {k}) {{ a += 1;" for k in range(count // 8))
        + "}" * (count // 8),
        "variables": "".join(f"float v{k} = x[i + {k}] * a;" for k in each)
        + "".join(f"a += v{k};" for k in each),
        "stores": "".join(f"x[i + {64 * k}] = a + {k};" for k in each),
        "arrays": "".join(
            f"threadgroup float s{k}[8]; s{k}[i & 7] = a; a += s{k}[0];" for k in range(count // 8)
        ),
        "expression": "a = " + "(" * (count // 8) + "a" + "*x[1]+1)" * (count // 8) + ";",
        "switch": "switch (n) {" + "".join(f"case {k}: a += x[{k}]; break;" for k in each) + "}",
        "loop": f"for (int k = 0; k < {count}; ++k) {{ float v = x[k]; a = a < v ? v : a; }}",
        "squares": "".join(f"a = a * a + x[{k}];" for k in each),
        "calls": "".join(f"a = g{k}(a, x[{k}]);" for k in each),
    }[kind]
    functions = "".join(
        f"float g{k}(float a, float b) {{ return a * b + {k}; }}\n" for k in each if kind == "calls"
    )
    return functions, body


KINDS = (
    *("selects", "statements", "branches", "nested", "variables", "stores", "arrays"),
    *("expression", "switch", "loop", "squares", "calls"),
)


def build_kernel(kind: str, count: int, *, barrier: bool) -> engine.CompiledKernel:
    functions, body = lines_of(kind, count)
    source = (
        f"{HEADER}{functions}kernel void k(device float* x, constant int& n, "
        "uint i [[thread_index_in_threadgroup]]) { float a = x[i];"
        f" {BARRIER if barrier else ''} {body} x[i] = a; }}"
    )
    return engine.build(engine.parse(source), "k")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("barrier", [False, True], ids=["loops", "lanes"])
def test_code_of_every_shape_is_compiled(kind, barrier):
    assert build_kernel(kind, 48, barrier=barrier).path


@pytest.mark.parametrize("kind", KINDS)
def test_large_code_is_compiled_with_reduced_passes(kind, monkeypatch):
    monkeypatch.setattr(compile, "O3_LIMITS", replace(compile.O3_LIMITS, module_lines=1))
    # No run with all passes is begun.
    monkeypatch.setattr(compile, "OPTIMISING_S", 0)
    found = build_kernel(kind, 400, barrier=False)
    assert "compiled with few optimisations" in found.reason
    assert "lines of LLVM IR, more than 1" in found.reason


def test_a_large_lane_is_not_vectorised(monkeypatch):
    monkeypatch.setattr(compile_kernel, "LARGEST_LANE", 50)
    found = build_kernel("statements", 48, barrier=True)
    assert found.engine == "fibers"
    assert "instructions of one thread, more than 50" in found.reason


def test_large_vectors_say_that_they_have_few_optimisations(monkeypatch):
    monkeypatch.setattr(compile, "O1_LIMITS", replace(compile.O1_LIMITS, module_lines=1))
    found = build_kernel("statements", 48, barrier=True)
    assert found.engine == "vectors"
    assert "compiled with few optimisations" in found.reason
    # The reason is stored with the object, which kernels of the same code share.
    launch, reasons = LaunchShape(found.widths[0], rows=True), []
    kind = {"fast_math": True, "reasons": reasons}
    path = compile_kernel.build_entry(Path(found.lane), launch, "k", **kind)
    assert (str(path), "; ".join(reasons)) == (found.path, found.reason)


def test_explain_reduction_counts_lines_of_functions_and_modules(monkeypatch):
    monkeypatch.setattr(compile, "O3_LIMITS", compile.SizeLimits(9, 4, 9, 9))
    function = "define void @f() {\n" + "  ret void\n" * 2 + "}\n"
    assert compile.explain_reduction(function * 2, ["-O3"]) == ""
    found = compile.explain_reduction(function * 3, ["-O3"])
    assert found == "12 lines of LLVM IR, more than 9"
    long = "define void @f() {\n" + "  ret void\n" * 5 + "}\n"
    found = compile.explain_reduction(long, ["-O3"])
    assert found == "a function of 6 lines of LLVM IR, more than 4"


LOOP = "  br label %1\n\n1:\n  br i1 %c, label %1, label %2, !dbg !3\n\n2:\n  ret void\n"
FUNCTION_OF_A_LOOP = f"define void @f(i1 %c) {{\n{LOOP}}}\n"


def test_explain_reduction_counts_blocks_and_loops_of_functions(monkeypatch):
    limits = compile.O3_LIMITS
    monkeypatch.setattr(compile, "O3_LIMITS", replace(limits, function_blocks=3, function_loops=1))
    # Blocks of several functions are not added.
    assert compile.explain_reduction(FUNCTION_OF_A_LOOP * 2, ["-O3"]) == ""
    monkeypatch.setattr(compile, "O3_LIMITS", replace(limits, function_blocks=2))
    found = compile.explain_reduction(FUNCTION_OF_A_LOOP, ["-O3"])
    assert found == "a function of 3 basic blocks, more than 2"
    monkeypatch.setattr(compile, "O3_LIMITS", replace(limits, function_loops=0))
    found = compile.explain_reduction(FUNCTION_OF_A_LOOP, ["-O3"])
    assert found == "a function of 1 loops, more than 0"


@pytest.mark.parametrize("options", [["-O1"], ["-O3", "-Xclang", "-disable-llvm-passes"]])
def test_explain_reduction_allows_more_without_the_passes_of_o3(options, monkeypatch):
    monkeypatch.setattr(compile, "O3_LIMITS", compile.SizeLimits(1, 1, 1, 0))
    assert compile.explain_reduction(FUNCTION_OF_A_LOOP, ["-O3"])
    assert compile.explain_reduction(FUNCTION_OF_A_LOOP, options) == ""


def test_run_with_time_limit_retries_with_reduced_passes():
    seen, reasons = [], []

    def run(module, flags, limit):
        seen.append((module, flags, limit))
        if limit is not None:
            raise TooSlowError("too slow")
        return "done"

    forced = '!1 = !{!"llvm.loop.vectorize.enable", i1 true}'
    assert compile.run_with_time_limit(run, forced, ["-O3"], reasons, ["-O1"]) == "done"
    assert seen[0] == (forced, ["-O3"], compile.OPTIMISING_S)
    assert seen[1] == (forced.replace("true", "false"), ["-O3", "-O1"], None)
    assert reasons == [
        "compiled with few optimisations: LLVM's passes took more than 10 s of processor time"
    ]


def calls_in(module: str) -> int:
    """Count the calls of Python functions while one lane's code is written for all lanes."""
    count = 0

    def count_call(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(count_call)
    try:
        vectorize_module(module, LaunchShape(32, rows=True))
    finally:
        sys.setprofile(None)
    return count


# LLVM leaves a long loop as it is, whatever its length.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "loop"])
def test_vectorisation_time_is_linear(kind):
    found = [build_kernel(kind, count, barrier=True) for count in (32, 64, 128)]
    assert {each.engine for each in found} == {"vectors"}
    texts = [Path(each.lane).read_text() for each in found]
    lines, calls = [each.count("\n") for each in texts], [calls_in(each) for each in texts]
    # What every module has cancels out. LLVM may leave code whose size does not double.
    more_lines, more_calls = ([b - a for a, b in pairwise(each)] for each in (lines, calls))
    assert more_calls[1] <= 1.5 * more_calls[0] * max(more_lines[1] / max(more_lines[0], 1), 1)


def test_check_size_refuses_large_lanes_and_modules_without_one(tmp_path):
    lane = tmp_path / "lane.ll"
    body = "  call void @f()\n"
    for name, count, message in (
        ("mb_vector_source", compile.LARGEST_LANE, "instructions of one thread"),
        ("other", 1, "does not define mb_vector_source"),
    ):
        lane.write_text(f"define void @{name}(ptr %p) {{\n{body * count}  ret void\n}}\n")
        with pytest.raises(IrError, match=message):
            compile_kernel.check_size(lane)


def processor_s(kind: str, lines: int, *, synchronises: bool, folder: Path) -> float:
    """Return the processor time of this process and of clang for a build without a cache."""
    source = generate_source(kind, lines, synchronises=synchronises)
    begin = _used_s()
    assert engine.build(engine.parse(source, str(folder / f"{lines}.metal")), "k").path
    return _used_s() - begin


def _used_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@pytest.mark.slow
@pytest.mark.parametrize("synchronises", [False, True], ids=["loops", "lanes"])
@pytest.mark.parametrize("kind", GENERATED_KINDS)
def test_build_time_of_large_sources_is_linear(kind, synchronises, tmp_path, monkeypatch):
    """Twice the length takes less than three times the processor time; quadratic: four times."""
    ratios = []
    for attempt in range(3):
        monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / str(attempt)))
        times = [
            processor_s(kind, lines, synchronises=synchronises, folder=tmp_path)
            for lines in (2500, 5000)
        ]
        ratios.append(times[1] / times[0])
        if ratios[-1] < 3:
            return
    raise AssertionError(f"twice the lines took {ratios} times as long")


def test_lay_out_blocks_takes_linear_time():
    def count_lines(count: int) -> int:
        """Count the executed lines of lay_out_blocks for a function of `count` branches."""
        blocks = "".join(
            f"  br i1 %c, label %a{k}, label %b{k}\na{k}:\n  call void @_ZN2mbL4meetEv()\n"
            f"  br label %b{k}\nb{k}:\n"
            for k in range(count)
        )
        module = Module(f"define void @f(i1 %c) {{\nstart:\n{blocks}  ret void\n}}\n")
        executed = 0

        def count_line(frame, event, argument):
            nonlocal executed
            executed += event == "line"
            return count_line if frame.f_code.co_filename == block_layout.__file__ else None

        sys.settrace(count_line)
        try:
            block_layout.lay_out_blocks(module)
        finally:
            sys.settrace(None)
        return executed

    assert count_lines(200) < 3 * count_lines(100)
