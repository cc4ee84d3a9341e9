"""Transformations refuse kernels for which their condition does not hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plain_sources import element_kernel, plane_kernel, read_plain, row_kernel

from agent_steel.source import with_source
from agent_steel.tuning.fusion import FusedDispatches
from agent_steel.tuning.loops import (
    FastFunctions,
    HalfAccumulation,
    LoadsAhead,
    PeeledTail,
    Reciprocals,
    UnrollFactor,
)
from agent_steel.tuning.quads import VectorLoads
from agent_steel.tuning.rows import SharedRows
from agent_steel.tuning.tiles import ProductTiles, TransposeTiles
from metalbench.kernel.header import Kernel, parse

LOOP = "for (uint c = 0; c < cols; ++c)"
SUM = f"float s = 0; {LOOP} {{ s += x[row * cols + c]; }} y[row] = s;"


def test_the_row_kernel_without_a_fault_is_transformed() -> None:
    assert list(SharedRows().versions(row_kernel(SUM)))


BAD_ROWS = {
    "a recurrence": f"float s = 0; {LOOP} {{ s = 0.5f * s + x[row * cols + c]; }} y[row] = s;",
    "a neighbour that the loop stores": f"""
        {LOOP} {{ y[row * cols + c] = x[row * cols + c]; }}
        float s = 0; {LOOP} {{ s += y[row * cols + cols - 1 - c]; }} y[row] = s;""",
    "a store to one element by all": f"""
        float s = 0; {LOOP} {{ s += x[c]; y[row] = x[c]; }}""",
    "an exclusive sum": f"""
        float s = 0; {LOOP} {{ y[row * cols + c] = s; s += x[row * cols + c]; }}""",
    "a loop that ends early": f"""
        float s = 0; {LOOP} {{ if (x[c] < 0) break; s += x[c]; }} y[row] = s;""",
    "the last of equal ones": f"""
        float b = -INFINITY; uint k = 0;
        {LOOP} {{ if (x[row * cols + c] >= b) {{ b = x[row * cols + c]; k = c; }} }}
        y[row] = k;""",
    "a condition on the sum so far": f"""
        float s = 0; {LOOP} {{ if (s < 1.0f) s += x[row * cols + c]; }} y[row] = s;""",
    "a difference": f"float s = 0; {LOOP} {{ s -= x[row * cols + c]; }} y[row] = s;",
    "a read of what another thread stores": f"""
        {LOOP} {{ y[row * cols + c] = x[row * cols + c]; }}
        y[row] = y[row * cols + 1];""",
    "a maximum of something else": f"""
        float s = 0; {LOOP} {{ s = max(s * 0.5f, x[row * cols + c]); }} y[row] = s;""",
    "a row that changes": f"row += 1; {SUM}",
    "a bound that changes": """
        uint n = cols; float s = 0; for (uint c = 0; c < n; ++c) { s += x[c]; n -= 1; }
        y[row] = s;""",
    "a guard for fewer rows": f"if (row >= cols) return; {SUM}",
    "SIMD-groups": "y[row] = simd_sum(x[row]);",
    "a directive": f"\n#ifdef FAST\n{SUM}\n#endif\n",
    "no loop over a row": "y[row] = x[row];",
    "a sum in a type that lanes cannot add": f"""
        bfloat s = bfloat(0); {LOOP} {{ s += bfloat(x[row * cols + c]); }} y[row] = float(s);""",
    "a name that is hidden": f"""
        float s = 0; {LOOP} {{ float x = 1.0f; s += x; }} y[row] = s;""",
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_rows_are_not_shared_where_threads_depend_on_each_other(what: str) -> None:
    assert list(SharedRows().versions(row_kernel(BAD_ROWS[what]))) == []


TREE = {
    "fewer threads in the tree": ("uint s = 128", "uint s = 64"),
    "another join": ("shared[t] += shared[t + s]", "shared[t] = max(shared[t], shared[t + s])"),
    "a part that is stored": ("y[row] = DTYPE(shared[0])", "y[row] = DTYPE(sum)"),
    "another element": ("DTYPE(shared[0])", "DTYPE(shared[1])"),
    "no barrier": (
        "      shared[t] += shared[t + s];\n    }\n    threadgroup_barrier(mem_flags::"
        "mem_threadgroup);",
        "      shared[t] += shared[t + s];\n    }",
    ),
    "another stride": ("c += 256", "c += 128"),
    "each thread stores": ("if (t == 0)", "if (t < 2)"),
}


@pytest.mark.parametrize("what", TREE)
def test_other_trees_are_not_replaced(what: str) -> None:
    _, kernel = read_plain("sum_rows")
    part, other = TREE[what]
    assert part in kernel.source
    changed = with_source(kernel, kernel.source.replace(part, other))
    assert list(SharedRows().versions(kernel))
    if what == "a part that is stored":
        # What one thread has would become what all have.
        changed = with_source(
            kernel,
            kernel.source.replace("if (t == 0) {\n    y[row]", "if (t == 0) {\n    y[row]").replace(
                part, "y[row] = DTYPE(shared[0] + t)"
            ),
        )
    assert list(SharedRows().versions(changed)) == []


BAD_ELEMENTS = {
    "a neighbour": "y[i] = x[i + 1];",
    "every second element": "y[i] = x[2 * i];",
    "a neighbour in place": "y[i] = x[i]; y[i] = y[i + 1];",
    "a guard for fewer elements": "if (i >= n - 1) return; y[i] = x[i];",
    "an early end": "if (x[i] < 0) return; y[i] = x[i];",
    "an atomic": "y[i] = x[i]; atomic_fetch_add_explicit((device atomic_uint*)y, 1u, "
    "memory_order_relaxed);",
    "a barrier": "y[i] = x[i]; threadgroup_barrier(mem_flags::mem_device);",
    "a private array": "float v[2]; v[0] = x[i]; y[i] = v[0];",
    "one element for all": "y[0] = x[i];",
}


@pytest.mark.parametrize("what", BAD_ELEMENTS)
def test_elements_do_not_become_vectors(what: str) -> None:
    assert list(VectorLoads().versions(element_kernel("y[i] = x[i];")))
    assert list(VectorLoads().versions(element_kernel(BAD_ELEMENTS[what]))) == []


@pytest.mark.parametrize(
    "body",
    [
        "y[p.x * rows + p.y] = x[p.x * rows + p.y];",
        "y[p.y * cols + p.x] = x[p.x * rows + p.y + 1];",
        "y[p.x * rows + p.y] = x[p.y * cols + p.x] + float(p.x);",
        "y[p.x * rows + p.y] = x[p.y * cols + p.x] + w[p.x];",
        "y[p.x * rows + p.y] += x[p.y * cols + p.x];",
        "y[p.x * rows + p.y] = y[p.y * cols + p.x];",
    ],
)
def test_only_transposes_get_tiles(body: str) -> None:
    good = plane_kernel("y[p.x * rows + p.y] = 2.0f * x[p.y * cols + p.x];")
    assert list(TransposeTiles().versions(good))
    assert list(TransposeTiles().versions(plane_kernel(body))) == []


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("float sum = 0.0f", "float sum = 1.0f"),
        ("b[k * n + p.x]", "b[p.x * n + k]"),
        ("float(b[k * n + p.x])", "float(b[k * n + p.x]) * float(a[k])"),
        ("uint k = 0", "uint k = 1"),
        ("sum +=", "sum = sum * 0.5f +"),
        ("c[p.y * n + p.x] =", "c[p.x * n + p.y] ="),
        ("DTYPE(sum);", "DTYPE(sum + p.x);"),
        ("DTYPE(sum);", "DTYPE(sum) + c[p.x];"),
        ("float(a[p.y * n + k])", "exp(float(a[p.y * n + k]))"),
        ("threads_in_grid=(n, n)", "threads_in_grid=(n / 2, n)"),
    ],
)
def test_only_products_of_matrices_get_tiles(part: str, other: str) -> None:
    _, kernel = read_plain("sqr_mm")
    assert part in kernel.source
    changed = with_source(kernel, kernel.source.replace(part, other))
    assert list(ProductTiles().versions(kernel))
    assert list(ProductTiles().versions(changed)) == []


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("square[i] = v * v;", "square[2 * i] = v * v;"),
        ("square[i] = v * v;", "if (v > 0) square[i] = v * v;"),
        ("square[i] = v * v;", "square[i] += v * v;"),
        ("square[i] = v * v;", "square[i] = v * square[i];"),
        (
            "device const DTYPE* x, device const float* square",
            "device DTYPE* x, device float* square",
        ),
        ("const float v = float(x[i]);", "const float v = float(x[i]) + simd_sum(1.0f);"),
        ("float sum = 0.0f;", "float sum = 0.0f; square[row] = 0.0f;"),
        (
            "// dispatch: scale_rows",
            "// dispatch: squares  threads_in_grid=(1)  threads=(32)\n// dispatch: scale_rows",
        ),
    ],
)
def test_dispatches_that_cannot_be_fused_stay(part: str, other: str) -> None:
    _, kernel = read_plain("rms_norm")
    assert part in kernel.source
    source = kernel.source.replace(part, other)
    if part.startswith("device const DTYPE* x, device const float"):
        # The second dispatch changes what the first one read.
        source = source.replace("float sum = 0.0f;", "x[row * cols] = DTYPE(0); float sum = 0.0f;")
    assert list(FusedDispatches().versions(kernel))
    assert list(FusedDispatches().versions(with_source(kernel, source))) == []


def test_a_scratch_that_a_third_dispatch_reads_stays() -> None:
    _, kernel = read_plain("rms_norm")
    third = "// dispatch: third  threads_in_grid=(rows)  threads=(64)\n// scratch:"
    source = kernel.source.replace("// scratch:", third, 1)
    source += (
        "\n[[kernel]] void third(device const float* square, device DTYPE* y,\n"
        "                      uint i [[thread_position_in_grid]]) { y[i] = DTYPE(square[i]); }\n"
    )
    assert list(FusedDispatches().versions(with_source(kernel, source))) == []


@pytest.mark.parametrize(
    "body",
    [
        "float s = 0; for (uint c = 0; c < cols; ++c) { s += y[c]; } y[row] = s;",
        "float s = 0; uint k = 0; for (uint c = 0; c < cols; ++c) { s += x[k]; ++k; } y[row] = s;",
        "float s = 0; for (uint c = 0; c < cols; ++c) { if (c > row) s += x[c]; } y[row] = s;",
        "float s = 0; for (uint c = 0; c < cols; ++c) { s += c > row ? x[c] : 0; } y[row] = s;",
        "float s = 0; for (uint c = 0; c < cols; c += 2) { s += x[c]; } y[row] = s;",
    ],
)
def test_loads_that_may_be_left_out_or_change_are_not_ahead(body: str) -> None:
    assert list(LoadsAhead().versions(row_kernel(SUM)))
    assert list(LoadsAhead().versions(row_kernel(body))) == []


@pytest.mark.parametrize(
    "body",
    [
        "float s = 0; for (uint c = 0; c < cols; c += 2) { s += x[c]; } y[row] = s;",
        "float s = 0; for (uint c = 0; c < cols; ++c) { s += x[c]; c += 1; } y[row] = s;",
        "uint m = cols; float s = 0; for (uint c = 0; c < m; ++c) { s += x[c]; --m; } y[row] = s;",
        "float s = 0; for (uint c = 0; c < cols; ++c) { if (s > 9) return; s += x[c]; }",
    ],
)
def test_loops_of_unknown_length_have_no_unroll_factor(body: str) -> None:
    assert list(UnrollFactor().versions(row_kernel(SUM)))
    assert list(UnrollFactor().versions(row_kernel(body))) == []


TAIL = "for (uint k = 0; k < 4; ++k) { if (4 * i + k < n) { y[4 * i + k] = x[4 * i + k]; } }"


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("4 * i + k < n", "4 * i - k < n"),
        ("4 * i + k < n", "x[4 * i + k] < n"),
        ("4 * i + k < n", "4 * i + k < n && k != 2"),
        ("4 * i + k < n", "4 * i < n"),
        ("4 * i + k < n", "4 * i + k < n + k"),
        ("k < 4", "k < n"),
    ],
)
def test_tails_are_peeled_only_where_the_last_index_is_the_largest(part: str, other: str) -> None:
    assert list(PeeledTail().versions(element_kernel(TAIL)))
    assert part in TAIL
    assert list(PeeledTail().versions(element_kernel(TAIL.replace(part, other)))) == []


@pytest.mark.parametrize(
    "body",
    [
        "uint d = cols; for (uint c = 0; c < cols; ++c) { y[c] = float(c / d); }",
        "float d = 2; for (uint c = 0; c < cols; ++c) { y[c] = x[c] / d; d += 1; }",
        "float d = 2; y[row] = x[row] / d;",
    ],
)
def test_divisions_by_other_things_stay(body: str) -> None:
    good = "float d = 2; for (uint c = 0; c < cols; ++c) { y[c] = x[c] / d; }"
    assert list(Reciprocals().versions(row_kernel(good)))
    assert list(Reciprocals().versions(row_kernel(body))) == []


def test_functions_of_the_file_are_not_made_fast() -> None:
    kernel = row_kernel("y[row] = exp(x[row]);")
    (fast,) = FastFunctions().versions(kernel)
    assert "fast::exp(x[row])" in fast
    own = kernel.source.replace("kernel void", "float exp(float v) { return v; }\nkernel void")
    assert list(FastFunctions().versions(with_source(kernel, own))) == []


def test_precise_functions_become_the_usual_ones() -> None:
    kernel = row_kernel("y[row] = precise::exp(x[row]);")
    assert [each for each in FastFunctions().versions(kernel) if "= exp(x[row])" in each]


def test_only_kernels_for_half_precision_add_in_half_precision() -> None:
    kernel = row_kernel(SUM)
    assert list(HalfAccumulation().versions(kernel)) == []
    (narrow,) = HalfAccumulation().versions(replace(kernel, dtypes=("float16",)))
    assert "half s = half(0)" in narrow


@pytest.mark.parametrize("source", ["kernel void f(", "", "// dispatch: g threads=(1)"])
def test_texts_that_cannot_be_read_are_not_transformed(source: str) -> None:
    kernel: Kernel = replace(parse(row_kernel(SUM).source, name="f"), source=source)
    for each in (SharedRows(), VectorLoads(), TransposeTiles(), ProductTiles(), LoadsAhead()):
        assert list(each.versions(kernel)) == []
