"""Matrices of half in threadgroup memory: which of them a tensor core takes together."""

from __future__ import annotations

import pytest
from cuda.ptx import check_sound


def tiles(pitch: int, *, type_name: str = "half", shift: int = 0, rights: str = "B[k]") -> str:
    """A kernel that multiplies two matrices below each other by one, over 16 of depth a turn."""
    matrix = f"simdgroup_matrix<{type_name}, 8, 8>"
    return (
        f"kernel void k(device const {type_name}* x, device float* y, constant uint& n, "
        "uint t [[thread_index_in_threadgroup]]) {"
        f"threadgroup {type_name} a[32 * {pitch}], b[32 * {pitch}];"
        "simdgroup_float8x8 C[2] = {make_filled_simdgroup_matrix<float, 8, 8>(0),"
        "make_filled_simdgroup_matrix<float, 8, 8>(0)};"
        "for (uint turn = 0; turn < n; ++turn) {"
        f"for (uint i = t; i < 16 * {pitch}; i += 32) {{"
        "a[i] = x[i + turn]; b[i] = x[2 * i + turn]; }"
        "threadgroup_barrier(mem_flags::mem_threadgroup);"
        f"{matrix} A[2][2], B[4];"
        f"for (uint k = 0; k < 2; ++k) {{ for (uint i = 0; i < 2; ++i)"
        f"simdgroup_load(A[i][k], a + {shift} + 8 * i * {pitch} + 8 * k, {pitch});"
        f"simdgroup_load(B[k], b + 8 * k * {pitch}, {pitch});"
        f"simdgroup_load(B[k + 2], b + 8 * k * {pitch} + 8, {pitch}); }}"
        "for (uint k = 0; k < 2; ++k) for (uint i = 0; i < 2; ++i)"
        f"simdgroup_multiply_accumulate(C[i], A[i][k], {rights}, C[i]);"
        "threadgroup_barrier(mem_flags::mem_threadgroup); }"
        "simdgroup_store(C[0], y, 8); simdgroup_store(C[1], y + 64, 8); }"
    )


def count(code: list[str], start: str) -> int:
    return sum(each.startswith(start) for each in code)


def test_four_products_are_one_instruction_and_words_come_by_ldmatrix(ptx_of):
    ptx = ptx_of(tiles(24))
    check_sound(ptx, assemble=True)
    code = ptx.code()
    assert count(code, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 1
    assert count(code, "mma.sync") == 1
    assert count(code, "ldmatrix.sync.aligned.m8n8.x1.shared.b16") == 4
    assert count(code, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16") == 2


@pytest.mark.slow
def test_of_bfloat_as_well(ptx_of):
    ptx = ptx_of(tiles(24, type_name="bfloat"))
    check_sound(ptx, assemble=True)
    assert count(ptx.code(), "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == 1


@pytest.mark.parametrize(("pitch", "shift"), [(20, 0), (24, 4)])
def test_rows_that_begin_elsewhere_than_at_16_bytes_are_read_by_elements(ptx_of, pitch, shift):
    ptx = ptx_of(tiles(pitch, shift=shift))
    check_sound(ptx, assemble=True)
    # With a shift only the left matrices lie so.
    assert count(ptx.code(), "ldmatrix") == (2 if shift else 0)


@pytest.mark.slow
def test_other_right_matrices_make_two_instructions(ptx_of):
    ptx = ptx_of(tiles(24, rights="B[k + 2 * i]"))
    check_sound(ptx, assemble=True)
    assert count(ptx.code(), "mma.sync.aligned.m16n8k16") == 2
