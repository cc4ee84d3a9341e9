"""Kernels as PTX: what of a GPU each thing in MSL becomes. No GPU is needed.

The short form has what a kernel cannot do without; the rest is marked slow.
"""

from __future__ import annotations

import pytest
from cuda.ptx import check_sound
from msl import test_async_copy as async_copy

from metalbench import _core

SIGNATURE = (
    "kernel void k(device const float* x, device float* y, device atomic_uint* count, "
    "device atomic_float* total, constant uint& n, uint i [[thread_position_in_grid]], "
    "uint t [[thread_index_in_threadgroup]])"
)


def kernel(body: str, before: str = "") -> str:
    return f"{before}{SIGNATURE} {{ {body} }}"


def test_a_kernel_uses_global_loads_for_device_memory(ptx_of):
    ptx = ptx_of(kernel("if (i < n) y[i] = max(x[i], 0.0f);"))
    check_sound(ptx, assemble=True)
    code = ptx.code()
    assert any(each.startswith("ld.global") for each in code)
    assert any(each.startswith("st.global") for each in code)
    assert not any(each.startswith(("ld.b", "st.b", "ld.f", "st.f")) for each in code)


@pytest.mark.slow
def test_info_has_the_arguments_of_a_kernel(ptx_of):
    info = ptx_of(
        "kernel void k(device float4* a, constant ushort& b, uint3 i "
        "[[thread_position_in_grid]]) { a[i.x] = b; }"
    ).info
    _, _, threadgroup_bytes, max_threads, counted, arguments = info[:6]
    assert (threadgroup_bytes, max_threads, counted, arguments) == (0, 1024, 0, 3)
    per_argument = 5
    first, second = info[6 : 6 + per_argument], info[6 + per_argument : 6 + 2 * per_argument]
    assert first[:3] == [16, 16, 1]
    assert second[:3] == [2, 2, 1]


def test_threadgroup_variables_are_uninitialised_shared_memory(ptx_of):
    ptx = ptx_of(
        kernel(
            "threadgroup float a[64]; threadgroup half4 b[3]; a[t % 64] = x[i];"
            "threadgroup_barrier(mem_flags::mem_threadgroup);"
            "b[t % 3] = half4(a[63 - t % 64]); y[i] = b[0].x;"
        )
    )
    check_sound(ptx, assemble=True)
    assert sorted(ptx.static_bytes) == [3 * 8, 64 * 4]
    code = ptx.code()
    assert any(each.startswith("st.shared") for each in code)
    assert any(each.startswith(("bar.sync", "barrier.sync")) for each in code)


@pytest.mark.slow
def test_dynamic_threadgroup_memory_is_one_array_of_unknown_size(ptx_of):
    ptx = ptx_of(
        "kernel void k(device float* y, threadgroup float* tile [[threadgroup(2)]], "
        "uint t [[thread_index_in_threadgroup]]) { tile[t] = t; y[t] = tile[t ^ 1]; }"
    )
    check_sound(ptx, assemble=True)
    assert ".extern .shared .align 16 .b8 mb_arena[];" in ptx.text
    assert any(each.startswith("st.shared") for each in ptx.code())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "instruction"),
    [
        ("simd_sum(x[i])", "shfl.sync.idx"),
        ("simd_shuffle_down(x[i], 3)", "shfl.sync.idx"),
        ("quad_max(x[i])", "shfl.sync.idx"),
        ("simd_prefix_exclusive_sum(x[i])", "shfl.sync.idx"),
        ("simd_broadcast_first(x[i])", "shfl.sync.idx"),
        ("float(ulong(simd_ballot(x[i] > 0)))", "vote.sync.ballot"),
        ("simd_all(x[i] > 0)", "vote.sync.ballot"),
        ("atomic_fetch_add_explicit(count, t, memory_order_relaxed)", "atom"),
        ("atomic_fetch_add_explicit(total, x[i], memory_order_relaxed)", "atom"),
        ("exp(x[i])", "fma"),
    ],
)
def test_functions_of_several_threads_are_instructions(ptx_of, expression, instruction):
    ptx = ptx_of(kernel(f"y[i] = {expression};"))
    check_sound(ptx, assemble=True)
    assert any(each.startswith(instruction) for each in ptx.code())


def test_branches_on_the_lane_leave_registers_for_the_assembler(ptx_of):
    ptx = ptx_of(
        kernel(
            "threadgroup float part[8]; float sum = simd_sum(x[i]);"
            "if (t % 32 == 0) part[t / 32] = sum;"
            "threadgroup_barrier(mem_flags::mem_threadgroup);"
            "float all = simd_sum(t % 32 < 8 ? part[t % 32] : 0.0f), r;"
            "if (t % 32 < 16) r = simd_sum(1.0f); else r = simd_sum(2.0f); y[i] = all + r;"
        )
    )
    check_sound(ptx, assemble=True, threads=256)
    # The steps of four sums, where all lanes are there; lane by lane it is a loop.
    assert sum(each.startswith("shfl.sync") for each in ptx.code()) <= 4 * (5 + 1)


@pytest.mark.slow
def test_a_sum_of_floats_is_one_atomic_instruction(ptx_of):
    ptx = ptx_of(kernel("atomic_fetch_add_explicit(total, x[i], memory_order_relaxed);"))
    (atomic,) = (each for each in ptx.code() if each.startswith(("atom", "red")))
    assert "add.f32" in atomic
    assert ".sys" not in atomic


def products(type_name, looks=""):
    """A kernel that adds up products of matrices, two in each turn of a loop."""
    matrix = f"simdgroup_matrix<{type_name}, 8, 8>"
    return (
        f"kernel void k(device const {type_name}* x, device {type_name}* y, constant uint& n) {{"
        f"{matrix} A[2], B[2], C = make_filled_simdgroup_matrix<{type_name}, 8, 8>(0);"
        "for (uint k = 0; k < n; k += 16) { for (uint j = 0; j < 2; ++j) {"
        "simdgroup_load(A[j], x + k + 8 * j, n); simdgroup_load(B[j], x + (k + 8 * j) * n, n);"
        "simdgroup_multiply_accumulate(C, A[j], B[j], C); } }"
        f"{looks} simdgroup_store(C, y, n); }}"
    )


@pytest.mark.parametrize(
    ("type_name", "types"),
    [("half", "f16.f16"), pytest.param("bfloat", "bf16.bf16", marks=pytest.mark.slow)],
)
def test_matrices_of_two_bytes_are_multiplied_by_tensor_cores(ptx_of, type_name, types):
    ptx = ptx_of(products(type_name))
    check_sound(ptx, assemble=True)
    assert ".local" not in ptx.text
    multiplied = f"mma.sync.aligned.m16n8k8.row.col.f32.{types}.f32"
    assert sum(each.startswith(multiplied) for each in ptx.code()) >= 2
    assert not any(each.startswith("fma.rn.f32") for each in ptx.code())


LOOKS = "C.thread_elements()[0] += 1;"


def test_matrices_of_float_are_multiplied_by_tensor_cores_in_parts(ptx_of):
    ptx = ptx_of(products("float"))
    check_sound(ptx, assemble=True)
    assert ".local" not in ptx.text
    code = ptx.code()
    # Three products of parts for each of two, which are summed together.
    multiplied = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
    assert sum(each.startswith(multiplied) for each in code) == 6
    assert sum(each.startswith("add.") and "f32" in each.split()[0] for each in code) == 2


@pytest.mark.slow
@pytest.mark.parametrize("type_name", ["float", "half", "bfloat"])
def test_matrices_with_accessed_elements_stay_in_registers(ptx_of, type_name):
    ptx = ptx_of(products(type_name, LOOKS))
    check_sound(ptx, assemble=True)
    assert ".local" not in ptx.text
    # Two elements a lane, eight products each, of two pairs of matrices: the first is not a sum.
    assert sum(each.startswith("fma.rn.f32") for each in ptx.code()) >= 28


@pytest.mark.slow
def test_a_function_constant_is_a_literal(ptx_of):
    text = kernel("y[i] = x[i] * scale;", "constant float scale [[function_constant(0)]];\n")
    texts = {value: ptx_of(text, {0: value}).text for value in (3.0, 5.0)}
    assert "0f40400000" in texts[3.0]
    assert "0f40A00000" in texts[5.0]


@pytest.mark.slow
def test_math_is_fast_or_as_written(ptx_of):
    text = kernel("y[i] = x[i] * x[i + 1] + x[i + 2];")
    assert "fma.rn.f32" in ptx_of(text).code()
    assert "fma.rn.f32" not in ptx_of(text, fast_math=False).code()


@pytest.mark.slow
def test_textures_are_memory(ptx_of):
    ptx = ptx_of(
        "kernel void k(texture2d<float> a, texture2d<float, access::write> b, sampler s, "
        "uint2 i [[thread_position_in_grid]]) { b.write(a.sample(s, float2(i) / 8), i); }"
    )
    check_sound(ptx, assemble=True)
    assert not any(each.startswith(("tex.", "suld", "sust")) for each in ptx.code())


@pytest.mark.slow
def test_messages_are_dropped(ptx_of):
    ptx = ptx_of(kernel('os_log_default.log("%d", int(i)); y[i] = 1;'))
    check_sound(ptx)


def test_undefined_symbols_are_reported_with_their_line(ptx_of):
    with pytest.raises(_core.CompileError, match=r":3:.*missing.* nothing defines it"):
        ptx_of(f"float missing(float);\n{kernel('y[i] = missing(x[i]);')}")


# What runs of these is in device/test_async_copy.py.
@pytest.mark.parametrize("element", ["half", "float"])
def test_lanes_copy_tiles_past_their_registers_and_wait(ptx_of, element):
    ptx = ptx_of(
        async_copy.DECLARED.replace("ESCAPE", "")
        + kernel(
            f"threadgroup {element} tile[64 * 40]; simdgroup_event event;"
            f"event.event = __metal_simdgroup_async_copy_2d(sizeof({element}), alignof({element}),"
            f"  tile, 40, 1, ulong2(32, 64), (device const {element}*)x, n, 1, ulong2(32, 64),"
            "   long2(0), 0);"
            "simdgroup_event::wait(1, &event); y[i] = tile[i % 64 * 40 + i / 64];"
        )
    )
    check_sound(ptx, assemble=True)
    code = [each.split()[0].rstrip(";") for each in ptx.code()]
    copies = [at for at, each in enumerate(code) if each == "cp.async.cg.shared.global"]
    waits = [at for at, each in enumerate(code) if each == "cp.async.wait_all"]
    assert copies
    assert len(waits) == 1
    # All lanes see what each has copied: they meet when it is there, and only then read.
    meets = [at for at, each in enumerate(code) if each == "bar.warp.sync" and at > waits[0]]
    reads = [at for at, each in enumerate(code) if each.startswith("ld.shared")]
    assert max(copies) < waits[0] < meets[0] < max(reads)
    # Rows that lie elsewhere come through registers, each by its elements.
    assert any(each.startswith("st.shared") for each in code)


def test_a_copy_from_outside_of_its_source_is_sound_ptx(ptx_of):
    ptx = ptx_of(
        async_copy.DECLARED.replace("ESCAPE", "")
        + kernel(
            "threadgroup float tile[64 * 40]; simdgroup_event event;"
            "event.event = __metal_simdgroup_async_copy_2d(4, 4, tile, 40, 1, ulong2(32, 64), x, n,"
            "  1, ulong2(n, n), long2(0), 1);"
            "simdgroup_event::wait(1, &event); y[i] = tile[i % 64 * 40 + i / 64];"
        )
    )
    check_sound(ptx, assemble=True)
