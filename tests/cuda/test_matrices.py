"""Matrices of half in threadgroup memory: which of them a tensor core takes together."""

from __future__ import annotations

import re

import pytest
from cuda.ptx import check_sound

from metalbench.msl.transforms.matrix_words import Lanes


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


def test_four_products_are_one_mma_with_operands_from_ldmatrix(ptx_of):
    ptx = ptx_of(tiles(24))
    check_sound(ptx, assemble=True)
    code = ptx.code()
    assert count(code, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 1
    assert count(code, "mma.sync") == 1
    assert count(code, "ldmatrix.sync.aligned.m8n8.x4.shared.b16") == 1
    assert count(code, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16") == 1
    assert count(code, "ldmatrix") == 2


def test_words_of_an_operand_are_adjacent_for_any_order_of_loads(ptx_of):
    turned = tiles(24).replace("A[i][k], a + 0 + 8 * i", "A[1 - i][1 - k], a + 8 * (1 - i)")
    text = ptx_of(turned.replace("* 24 + 8 * k, 24", "* 24 + 8 * (1 - k), 24")).text
    read = _READ.search(text)
    product = _PRODUCT.search(text)
    assert read is not None
    assert product is not None
    assert read[1].split() == product[1].split()


_READ = re.compile(r"ldmatrix\.sync\.aligned\.m8n8\.x4\.shared\.b16\s*\{([^}]*)\}")
_PRODUCT = re.compile(r"mma\.sync[^{]*\{[^}]*\},\s*\{([^}]*)\}")


@pytest.mark.slow
def test_bfloat_matrices_use_tensor_cores(ptx_of):
    ptx = ptx_of(tiles(24, type_name="bfloat"))
    check_sound(ptx, assemble=True)
    assert count(ptx.code(), "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == 1


def test_two_left_float_matrices_share_an_instruction(ptx_of):
    ptx = ptx_of(tiles(20, type_name="float"))
    check_sound(ptx, assemble=True)
    code = ptx.code()
    assert count(code, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") == 6
    assert count(code, "mma.") == 6
    assert count(code, "ldmatrix") == 0
    # Parts of four left elements and two right ones, for each of two products, once.
    assert ptx.text.count(", -8192;") == 12


@pytest.mark.parametrize(("pitch", "shift"), [(20, 0), (24, 4)])
def test_rows_not_aligned_to_16_bytes_are_read_by_elements(ptx_of, pitch, shift):
    ptx = ptx_of(tiles(pitch, shift=shift))
    check_sound(ptx, assemble=True)
    # With a shift only the left matrices lie so.
    assert count(ptx.code(), "ldmatrix") == (1 if shift else 0)


@pytest.mark.slow
def test_other_right_matrices_make_two_instructions(ptx_of):
    ptx = ptx_of(tiles(24, rights="B[k + 2 * i]"))
    check_sound(ptx, assemble=True)
    assert count(ptx.code(), "mma.sync.aligned.m16n8k16") == 2


def of_lane(lanes: Lanes, wanted: str, lane: int) -> int:
    """Return the part of a value that one lane has, by the instructions that compute it."""
    values: dict[str, int] = {}
    operations = {
        "and": lambda a, b: a & b,
        "mul": lambda a, b: a * b,
        "add": lambda a, b: a + b,
        "icmp": lambda a, b: int(a == b),
        "select": lambda a, b, c: b if a else c,
        "sext": lambda a: a,
        "call": lambda: lane,
    }
    for line in lanes.lines:
        name, _, made = line.strip().partition(" = ")
        taken = [values[each] if each in values else int(each) for each in OPERAND.findall(made)]
        values[name] = operations[made.split()[0]](*taken)
    return values[wanted]


# Values, and numbers that are not part of a type or of a name.
OPERAND = re.compile(r"(%[\w.]+|(?<![\w.])-?\d+)\b")


@pytest.mark.parametrize("offsets", [(0, 384), (0, 16, 32, 48), (0, -48, 1152, 7)])
def test_every_eight_lanes_tell_the_rows_of_one_matrix(offsets):
    lanes = Lanes()
    wanted = lanes.bytes_of((48, offsets))
    found = [of_lane(lanes, wanted, lane) for lane in range(8 * len(offsets))]
    assert found == [48 * (lane % 8) + offsets[lane // 8] for lane in range(8 * len(offsets))]


def test_a_write_between_reads_prevents_combining(ptx_of):
    text = (
        tiles(24)
        .replace("B[4];", "B[4]; ")
        .replace(
            "simdgroup_load(B[k], b + 8 * k * 24, 24);",
            "if (k == 0) { a[t + 700] = x[t]; } simdgroup_load(B[k], b + 8 * k * 24, 24);",
        )
    )
    ptx = ptx_of(text)
    check_sound(ptx, assemble=True)
    assert count(ptx.code(), "ldmatrix.sync.aligned.m8n8.x4") == 0
