"""The headers with MB_VECTOR: what a kernel of one lane asks its SIMD-group for."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

from metalbench.kernel.library import Library
from metalbench.kernel.source_files import include_folders
from metalbench.msl import engine
from metalbench.msl.frontend.lower import lower
from metalbench.msl.toolchain.clang import LANE_FLAGS, find_toolchain, list_flags
from metalbench.msl.toolchain.compile import MessageTranslator, generate_ir
from metalbench.msl.toolchain.compile_kernel import lane_of
from metalbench.msl.vectorize.body import LaunchShape
from metalbench.msl.vectorize.module import vectorize_module

PLACES = {"lane", "index", "x", "y", "z", "simdgroup", "arena"}
MOVES = {"shuffle", "first"}
SUMS = {
    "sum",
    "product",
    *(f"{how}_{what}" for how in ("inclusive", "exclusive") for what in ("sum", "product")),
}
TYPES = {
    "char": "u8", "uchar": "u8", "short": "u16", "ushort": "u16", "int": "u32", "uint": "u32",
    "long": "u64", "ulong": "u64", "float": "f32", "half": "f16", "bfloat": "bf16", "bool": "b1",
}  # fmt: skip
REDUCTIONS = ("sum", "product", "min", "max")
SCANS = [
    f"prefix_{how}_{what}" for how in ("inclusive", "exclusive") for what in ("sum", "product")
]
SHUFFLES = [
    *("broadcast", "shuffle", "shuffle_up", "shuffle_down", "shuffle_xor"),
    *("shuffle_rotate_up", "shuffle_rotate_down"),
]


def _lane(source: str, vector: bool = True) -> str:
    """The LLVM IR of a source's only kernel."""
    program = engine.parse("#include <metal_stdlib>\nusing namespace metal;\n" + source)
    text = lower(program.source, program.functions[0], {}).code.text
    tools = find_toolchain()
    options = [*list_flags(checked=False, fast_math=True), *tools.include_flags, "-O2"]
    options += ["-fno-vectorize", "-fno-slp-vectorize", f"-DMB_VECTOR={int(vector)}"]
    command = [*tools.clang, "-x", "c++", *options, "-S", "-emit-llvm", "-o", "-", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _find_undefined(ir: str) -> set[str]:
    """The functions that are defined nowhere, but for LLVM's own."""
    names = re.findall(r"^declare [^@]*@([\w.]+)\(", ir, re.MULTILINE)
    return {name for name in names if not name.startswith("llvm.")}


def _markers(ir: str) -> set[str]:
    """Return the markers of a lane. No other function may be undefined."""
    asked = _find_undefined(ir) - {"mb_vector_body"}
    assert all(name.startswith("mb_vector_") for name in asked), asked
    for function in re.findall(r"^define .*?^}", ir, re.MULTILINE | re.DOTALL):
        head, _, code = function.partition("\n")
        if "@mb_vector_source(" not in head:
            assert not re.search(r"@mb_vector_(?!body|rows)", code), head
    return {name.removeprefix("mb_vector_") for name in asked}


def _kernel(type_: str, part: str, calls: list[str]) -> str:
    lines = "\n".join(f"r = {type_}(r + {part}_{call});" for call in calls)
    return f"""
        kernel void f(device {type_}* x, device const ushort* by, uint i [[thread_position_in_grid]]) {{
          {type_} r = x[i];
          {lines}
          x[i] = r;
        }}"""


@pytest.mark.parametrize("type_", TYPES)
def test_functions_of_simdgroups_are_markers_of_their_type(type_):
    bits = [] if type_ in ("float", "half", "bfloat") else ["and", "or", "xor"]
    calls = [f"{name}(r)" for name in (*REDUCTIONS, *SCANS, *bits, "broadcast_first")]
    calls += [f"{name}(r, by[i])" for name in SHUFFLES]
    asked = _markers(_lane(_kernel(type_, "simd", calls))) - {"x"}
    suffix = TYPES[type_]
    if type_ == "bool":
        expected = {"lane", "ballot", *(f"{name}_b1" for name in (*MOVES, *bits))}
    else:
        expected = {"lane"} | {f"{name}_{suffix}" for name in (*MOVES, *SUMS, *bits, "min", "max")}
    assert asked == expected


@pytest.mark.parametrize("type_", TYPES)
def test_functions_of_quads_are_shuffles(type_):
    calls = [f"{name}(r)" for name in (*REDUCTIONS, *SCANS, "broadcast_first")]
    calls += [f"{name}(r, by[i])" for name in SHUFFLES]
    asked = _markers(_lane(_kernel(type_, "quad", calls))) - {"x"}
    assert asked == {"lane", "ballot", f"shuffle_{TYPES[type_]}"}


def test_a_place_is_made_of_markers():
    source = """
        kernel void f(device uint* y, uint3 p [[thread_position_in_threadgroup]], uint i [[thread_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]]) {
          threadgroup uint t[32];
          t[lane] = p.x + p.y * p.z;
          threadgroup_barrier(mem_flags::mem_threadgroup);
          y[i] = t[s];
        }"""
    assert _markers(_lane(source)) == PLACES | {"barrier"}


MATRIX = """
kernel void f(device float* y) {
  simdgroup_float8x8 a, b;
  simdgroup_load(a, y);
  simdgroup_multiply(b, a, a);
  KEEPING
  simdgroup_store(b, y);
}"""


def test_matrices_are_the_same_in_all_lanes():
    assert _markers(_lane(MATRIX.replace("KEEPING", ""))) == set()


def test_matrices_that_lanes_share_are_multiplied_by_shuffles():
    asked = _lane(MATRIX.replace("KEEPING", "b.thread_elements()[0] += 1;"))
    assert _markers(asked) == {"lane", "shuffle_f32"}
    # Every lane needs four pairs of its row of `a`, and eight of its two columns of `b`.
    assert len(re.findall(r"call .*@mb_vector_shuffle_f32\(", asked)) == 2 * 4 + 2 * 8


def test_simdgroup_barriers_are_free_in_vectors():
    source = "kernel void f(device int* y) { y[0] = 1; simdgroup_barrier(mem_flags::mem_device); y[0] = 2; }"
    ir = _lane(source)
    assert _markers(ir) == set()
    # Both stores stay.
    assert len(re.findall(r"store i32 [12], ", ir)) == 2


def test_fibers_ask_for_no_markers():
    calls = [f"{name}(r)" for name in (*REDUCTIONS, *SCANS)]
    assert "mb_vector_" not in _lane(_kernel("float", "simd", calls), vector=False)


@pytest.mark.parametrize("kind", ["half", "bfloat"])
def test_the_least_half_takes_no_call_for_each_lane(kind):
    source = f"""
        kernel void f(device const {kind}* x, device {kind}* y,
                      uint i [[thread_position_in_grid]]) {{ y[i] = simd_min(x[i]); }}"""
    lane = _lane(source)
    assert re.search(r"call [^@]*@mb_vector_min_", lane)
    assert "minnum" not in vectorize_module(lane, LaunchShape(32, rows=False))


@pytest.mark.parametrize("kind", ["half", "bfloat"])
def test_the_least_half_of_a_part_of_a_simdgroup_is_a_number(threadgroup, kind):
    x = np.array([3, np.nan, -2, 5, *[9] * 30], np.float32)
    body = f"y[tid] = float(simd_min({kind}(x[tid]))) + 100 * float(simd_max({kind}(x[tid])));"
    np.testing.assert_array_equal(threadgroup(body, x, threads=34), [898] * 32 + [909] * 2)


@pytest.mark.parametrize("name", ["sqr_mm", "batch_mm"])
def test_divergence_agrees_with_the_source(name):
    """A bounds guard of a matrix before a loop over tiles must not mask that loop."""
    kernel = next(each for each in Library() if each.task.name == name).kernel()
    macros = {"DTYPE": "float", **{key: str(of[0]) for key, of in kernel.tunables.items()}}
    folders = include_folders(kernel.path, kernel.include_dirs)
    program = engine.parse(kernel.source, str(kernel.path), macros, folders)
    lowered = lower(program.source, name, {})
    options = list_flags(checked=False, fast_math=True, spaces=lowered.spaces, passes=LANE_FLAGS)
    lane = generate_ir(lowered.code, find_toolchain(), options, MessageTranslator())
    text = vectorize_module(lane, LaunchShape(32, rows=True))
    assert re.search(r"^b\d+:$", text, re.MULTILINE)
    assert not re.search(r"^m\d+:$", text, re.MULTILINE)


@pytest.mark.parametrize(("barrier", "copies"), [("", 3), ("threadgroup", 1), ("simdgroup", 1)])
@pytest.mark.parametrize("is_nested", [False, True])
def test_a_loop_with_a_barrier_is_not_unrolled_for_a_processor(barrier, copies, is_nested):
    stores = "y[i] = x[7 * i];"
    if is_nested:
        stores = f"if (x[i] > 0.0f) {{ {stores} }}"
    if barrier:
        stores += f"{barrier}_barrier(mem_flags::mem_device);"
    source = f"""#include <metal_stdlib>
        using namespace metal;
        kernel void f(device const float* x, device float* y) {{
          #pragma clang loop unroll(full)
          for (uint i = 0; i < 3; ++i) {{ {stores} }}
          simdgroup_barrier(mem_flags::mem_device);
        }}"""
    lowered = lower(engine.parse(source).source, "f", {})
    lane = lane_of(
        lowered.code,
        find_toolchain(),
        MessageTranslator(),
        fast_math=True,
        spaces=lowered.spaces,
    )
    assert len(re.findall(r"store float ", lane.read_text())) == copies
