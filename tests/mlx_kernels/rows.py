"""Families that work on rows: reductions, scans, sorts, normalisations, transforms."""

from __future__ import annotations

from mlx_kernels.family import FLOATS, Family, of

REDUCE = Family(
    "reduce",
    ("utils.h", "atomic.h", "reduction/ops.h", "reduce.h"),
    (
        of("init_reduce", "float", "Sum<float>"),
        of("init_reduce", "bool", "And<bool>"),
        of("all_reduce", "float", "float", "Sum<float>"),
        of("all_reduce", "half", "half", "Max<half>"),
        of("all_reduce", "int32_t", "bool", "Or<bool>"),
        of("all_reduce", "complex64_t", "complex64_t", "Prod<complex64_t>"),
        of("row_reduce_simple", "float", "float", "Sum<float>"),
        of("row_reduce_simple", "bfloat16_t", "bfloat16_t", "Sum<bfloat16_t>"),
        of("row_reduce_simple", "int64_t", "int64_t", "Min<int64_t>"),
        of("row_reduce_small", "float", "float", "Max<float>", "int", 1),
        of("row_reduce_small", "uint8_t", "int32_t", "Sum<int32_t>", "int64_t", 2),
        of("row_reduce_looped", "half", "half", "Sum<half>", "int", 1),
        of("row_reduce_looped", "float", "float", "Prod<float>", "int", 2),
        of("col_reduce_small", "float", "float", "Sum<float>", "int", 1),
        of("col_reduce_longcolumn", "float", "float", "Sum<float>", "int", 1),
        of("col_reduce_looped", "float", "float", "Sum<float>", "int", 1, 32, 32),
        of("col_reduce_looped", "bfloat16_t", "bfloat16_t", "Min<bfloat16_t>", "int", 2, 32, 32),
        of("col_reduce_2pass", "float", "float", "Max<float>", "int", 1, 32, 32),
    ),
)


def _scan(kernel: str, kind: str, op: str, reads: int, inclusive: bool, reverse: bool):
    return of(kernel, kind, kind, f"{op}<{kind}>", reads, inclusive, reverse)


SCAN = Family(
    "scan",
    ("defines.h", "utils.h", "scan.h"),
    (
        *(_scan("contiguous_scan", kind, "CumSum", 4, True, False) for kind in FLOATS),
        _scan("contiguous_scan", "int32_t", "CumMax", 4, True, True),
        _scan("contiguous_scan", "float", "CumLogaddexp", 4, True, False),
        _scan("contiguous_scan", "uint64_t", "CumProd", 2, False, False),
        _scan("contiguous_scan", "bool", "CumMin", 4, False, True),
        _scan("contiguous_scan", "complex64_t", "CumSum", 2, True, False),
        _scan("strided_scan", "float", "CumSum", 4, True, False),
        _scan("strided_scan", "half", "CumMin", 4, False, True),
    ),
)

SOFTMAX = Family(
    "softmax",
    ("utils.h", "softmax.h"),
    (
        *(of("softmax_single_row", kind) for kind in FLOATS),
        of("softmax_single_row", "half", "float"),
        *(of("softmax_looped", kind) for kind in FLOATS),
    ),
)
LOGSUMEXP = Family(
    "logsumexp",
    ("utils.h", "logsumexp.h"),
    (
        *(of("logsumexp", kind) for kind in FLOATS),
        *(of("logsumexp_looped", kind) for kind in FLOATS),
    ),
)
CROSS_ENTROPY = Family(
    "cross_entropy",
    ("utils.h", "cross_entropy.h"),
    (
        *(of("cross_entropy", kind) for kind in FLOATS),
        of("cross_entropy_vjp", "float"),
    ),
)

SORT = Family(
    "sort",
    ("utils.h", "sort.h", "searchsorted.h"),
    (
        of("block_sort", "float", "float", False, 32, 4),
        of("block_sort", "half", "uint32_t", True, 64, 4),
        of("block_sort", "bfloat16_t", "bfloat16_t", False, 128, 4),
        of("block_sort", "int64_t", "int64_t", False, 32, 4),
        of("block_sort", "complex64_t", "complex64_t", False, 32, 4),
        of("block_sort_nc", "uint8_t", "uint32_t", True, 32, 4),
        of("mb_block_sort", "float", "uint32_t", True, 512, 4),
        of("mb_block_partition", "float", "uint32_t", True, 512, 4),
        of("mb_block_merge", "float", "uint32_t", True, 512, 4),
        of("searchsorted", "float", False),
        of("searchsorted", "int32_t", True),
    ),
)

HADAMARD_12 = [
    "+-----------",
    "++-+---+++-+",
    "+++-+---+++-",
    "+-++-+---+++",
    "++-++-+---++",
    "+++-++-+---+",
    "++++-++-+---",
    "+-+++-++-+--",
    "+--+++-++-+-",
    "+---+++-++-+",
    "++---+++-++-",
    "+-+---+++-++",
]
_ROWS = "\n".join(
    f"  y[{i}] = {' '.join(f'{sign} x[{j}]' for j, sign in enumerate(row))};"
    for i, row in enumerate(HADAMARD_12)
)
HADAMARD = Family(
    "hadamard",
    ("utils.h", "hadamard.h"),
    (
        *(of("hadamard_n", kind, 64, 16, 4) for kind in FLOATS),
        of("hadamard_n", "float", 2048, 16, 4),
        of("hadamard_n", "float", 32, 16, 4, 64),
        of("hadamard_m", "float", 64, 12, 4),
        of("hadamard_m", "half", 64, 12, 4),
    ),
    before=f"METAL_FUNC void hadamard_radix_m(thread float* x) {{\n  float y[12];\n{_ROWS}\n"
    "  for (int i = 0; i < 12; i++) x[i] = y[i];\n}\n",
)

FFT = Family(
    "fft",
    ("utils.h", "fft.h"),
    (
        of("generate_bluestein_twiddles"),
        of("fft", 256, "float2", "float2"),
        of("fft", 256, "float", "float2"),
        of("fft", 256, "float2", "float"),
        of("fft", 1024, "complex32_t", "complex32_t"),
        of("rader_fft", 256, "float2", "float2"),
        of("bluestein_fft", 512, "float2", "float2"),
        of("four_step_fft", 256, "float2", "float2", 0, False),
        of("four_step_fft", 256, "float2", "float2", 1, False),
        of("four_step_fft", 256, "float", "float2", 0, True),
    ),
    constants={0: False, 1: True, 2: 4, 3: 1, **dict.fromkeys(range(4, 22), 0), 22: False},
)

ROWS = (REDUCE, SCAN, SOFTMAX, LOGSUMEXP, CROSS_ENTROPY, SORT, HADAMARD, FFT)
