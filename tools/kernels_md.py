"""Write KERNELS.md, the overview of the kernel library; `--check` says whether it is current.

python tools/kernels_md.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from metalbench.kernel.library import FAMILIES, Entry, Library
from metalbench.report import numbers

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "KERNELS.md"
SIZE = "seed"
INTRODUCTION = f"""\
# The kernel library

Written by `python tools/kernels_md.py` from the tasks and the headers of the kernels. Shapes,
floating-point operations and bytes (the least that must be moved, in float32) are those of the size
`{SIZE}`; `metalbench show NAME` tells the other sizes.

Each section begins with the speed that is expected on a Mac with an M2 or M4, as a multiple of
MLX's: above 1 is faster than MLX. These figures are expectations, not measurements. They follow
from reading both sources: the bytes that each moves, its instructions, and how many threadgroups
fit on a core. On an M5 every product is expected at 0.15 to 0.3 of MLX, which uses the tensor
operations of that chip; the library does not. `metalbench run --set SECTION` measures.
"""

# Of each section: kernels, the speed that is expected of them as a multiple of MLX's, and why.
EXPECTED: dict[str, tuple[tuple[str, str, str], ...]] = {
    "common": (
        (
            "elementwise functions and losses",
            "0.95-1.05",
            "Memory decides; work a thread is the same",
        ),
        (
            "softmax, norms of rows",
            "0.95-1.1",
            "As many threads as MLX; rows to 8192 are read once",
        ),
        (
            "reductions of rows, argmax, logsumexp",
            "0.95-1.1",
            "Up to 1024 threads a row, one barrier",
        ),
        ("sums of whole arrays", "1.0", "Two dispatches, 16384 elements a threadgroup"),
        (
            "cumulative sums and products",
            "0.9-1.1",
            "Neighbouring lanes read neighbouring 16 bytes",
        ),
        ("top_k", "2-5", "16 rounds in registers; MLX sorts"),
        ("transpose_2d", "1.5-3", "Tiles in threadgroup memory; MLX's general copy strides"),
        (
            "products in float32",
            "0.8-0.95",
            "MLX's tile, one buffer: 9 KiB, three threadgroups a core",
        ),
        (
            "products in float16, bfloat16",
            "0.75-0.95",
            "As float32; bfloat16 is 8 % slower on M1, M2",
        ),
        ("matvec", "0.9-1.05", "Memory decides"),
        ("convolutions", "0.6-0.9", "Divisions find each patch; MLX specialises channels"),
        ("transposed convolutions", "1-2", "One product a phase; no products with zeros"),
        ("depthwise_conv2d", "0.9-1.2", "A column of the filter stays in registers"),
        ("pools", "2-10", "One pass; MLX reduces a strided view"),
        ("batch_norm", "1.5-3", "One dispatch; MLX takes several passes"),
    ),
    "standard": (
        ("fused elementwise operations", "0.95-1.05", "1-3 against MLX without mx.compile"),
        ("softmax, norms, losses of rows", "0.95-1.1", "As many threads as MLX, one pass"),
        ("dense layers", "0.75-0.95", "The epilogue saves a pass; the product is as in common"),
        ("attention", "0.55-0.85", "Scores pass through threadgroup memory; MLX keeps them"),
    ),
    "full": (("all", "2-5", "Five dispatches, where MLX has 15 to 25; sizes are small"),),
    "elementwise": (
        ("functions of elements, gates", "0.95-1.05", "Memory decides"),
        ("permute_heads, repeat_heads", "1.5-3", "Whole cache lines; MLX's general copy strides"),
    ),
    "reduction": (
        ("reductions of rows", "0.95-1.1", "Up to 1024 threads a row, one barrier"),
        ("reductions of columns, segment_sum", "1.0-1.5", "Strips of whole cache lines"),
        ("running sums and extremes", "0.9-1.1", "As many threads as MLX, one barrier a block"),
        (
            "sort_rows, argsort_rows",
            "0.4-0.7",
            "Bitonic, memory follows the row; MLX merges",
        ),
        ("median_rows", "2-5", "Counts by bits; MLX sorts"),
    ),
    "norm": (
        ("norms", "0.95-1.1", "As many threads as MLX; rows to 8192 are read once"),
        ("gradients", "1.0-1.5", "MLX writes the gradient of the weights for each row first"),
    ),
    "rope": (("all", "0.95-1.05", "Memory decides; sines are computed once for several heads"),),
    "gemm": (
        ("addmm, linear_xwt", "0.75-0.95", "As products of common"),
        ("splitk_mm, segmented_mm, block_masked_mm", "0.7-1.0", "Sources without runs of quads"),
        ("gemv_t", "0.7-1.0", "Strips of columns"),
        ("gemv_masked", "0.9-1.05", "Memory decides"),
    ),
    "quantised": (
        ("qmv with 4, 5, 6, 8 bits, mxfp, nvfp4", "0.85-1.0", "MLX's shape; 5 operations a weight"),
        ("qmv with 2, 3 bits", "0.6-0.85", "Arithmetic decides"),
        ("rms_norm_qmv", "0.95-1.15", "Saves a dispatch"),
        ("qmm", "0.5-0.7", "64-bit addresses, and a scale for every four codes"),
        ("quantize, dequantize, embeddings", "0.85-1.0", "Memory decides"),
    ),
    "attention": (
        ("prefill in float16", "0.55-0.75", "Tiles are float32; each fragment feeds one product"),
        ("prefill in float32", "0.7-0.85", "As in float16, at MLX's number of bytes"),
        ("windows", "1-8", "Blocks that are not seen are skipped; MLX makes a mask"),
        ("trees, ALiBi, relative positions, prefixes", "0.8-1.5", "No mask in memory"),
        ("mla_prefill", "0.8-1.3", "One dispatch; MLX does not fuse it"),
        ("sdpa_decode", "1.0-1.3", "0.5 on Max and Ultra: a threadgroup a head is too few"),
        ("sdpa_decode_2pass", "1.0-1.3", "The cache is read once for all heads that share it"),
        (
            "decoding over quantised and paged caches",
            "2-4",
            "Registers only; MLX dequantises first",
        ),
    ),
    "cache": (
        ("kv_append", "1.0", "In place, as a donated slice update"),
        ("kv_dequant, kv_gather_pages", "0.85-1.0", "Memory decides"),
    ),
    "experts": (
        ("gather_mv, gather_qmv", "0.9-1.0", "A SIMD-group a row"),
        ("routers", "2-5", "The best of each lane; MLX sorts"),
        ("gather_mm_sorted, moe_swiglu", "0.7-0.95", "Threadgroups find their expert one by one"),
    ),
    "recurrent": (
        ("steps", "0.9-1.1", "mlx-lm has the same kernels"),
        ("scans", "1.0", "A row of the state a SIMD-group"),
        ("gated_delta_chunked", "1.5-3", "mlx-lm has no version in chunks"),
    ),
    "transform": (
        ("Fourier transforms", "0.6-0.8", "Two buffers and roots in threadgroup memory"),
        ("fft_conv", "1.5-2.5", "One dispatch; MLX composes three"),
        ("Hadamard transforms", "0.9-1.2", "Shuffles"),
    ),
    "random": (
        ("random bits and uniform numbers", "0.9", "The same generator"),
        ("normal numbers", "1.2-2", "No pass between the bits and the numbers"),
        ("masks of sampling", "1-2", "Up to 1024 threads a row; no sort"),
    ),
    "convolution": (
        ("implicit products", "0.6-0.9", "Divisions find each patch; MLX specialises channels"),
        ("conv2d_1x1", "0.8-0.95", "A plain product"),
        ("conv1d_transpose", "1-2", "One product a phase; no products with zeros"),
        ("winograd_3x3", "0.5-0.7", "MLX's tile has 5.1 times fewer products, this one 2.25"),
        ("depthwise_strided", "0.9-1.2", "A column of the filter stays in registers"),
    ),
    "vision": (
        ("patch_embed", "0.6-0.9", "An implicit product"),
        ("image_normalize, patchify, pixel_shuffle", "0.95-1.05", "Memory decides"),
    ),
    "audio": (
        ("log_mel, stft_power", "1.5-2.5", "Fused, two real transforms in one; MLX composes"),
    ),
    "indexing": (
        ("scatter_add", "0.8", "Fixed order of additions; MLX's float atomics have none"),
    ),
}
SETS = {
    "common": "Single operations, and the fusions that every network is made of.",
    "standard": "What transformers are built from.",
    "full": "Whole models and blocks.",
}
FAMILIES_INTRODUCTION = """\
# Families

What language models and their like live on, by family. They run when they are named:
`metalbench run --set attention`, `--set families`, or `--all`. A family has tasks of the sets above
as well, which are named here and not repeated.
"""


def overview(library: Library) -> str:
    """Return the text of KERNELS.md."""
    parts = [INTRODUCTION]
    for name, entries in groupby(library, lambda entry: entry.set):
        tasks = list(entries)
        count = numbers.count(len(tasks), "task")
        lines = [f"## {name}", "", f"{SETS[name]} {count}.", "", *_expectations(name)]
        parts.append("\n".join([*lines, *_table(tasks), ""]))
    parts.append(FAMILIES_INTRODUCTION)
    parts += [_family(library, family) for family in FAMILIES]
    return "\n".join(parts)


def _family(library: Library, family: str) -> str:
    entries = [library.entry(name) for name in library.names(family)]
    own = [each for each in entries if each.set == family]
    others = [f"[{e.name}](kernels/{e.set}/{e.name}.metal)" for e in entries if e.set != family]
    name = family.rpartition("/")[2]
    lines = [f"## {name}", "", f"{numbers.count(len(own), 'task')} declared here."]
    if others:
        lines += ["", f"Of other sets: {', '.join(others)}."]
    lines += ["", *_expectations(name)]
    if own:
        lines += [*_table(own), ""]
    return "\n".join(lines)


def _expectations(section: str) -> Iterator[str]:
    yield "| kernels | expected speed, MLX = 1 | why |"
    yield "|---|---|---|"
    for row in EXPECTED[section]:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _table(entries: Sequence[Entry]) -> Iterator[str]:
    yield "| task | what | technique | types | shapes | operations | bytes |"
    yield "|---|---|---|---|---|---|---|"
    first_tasks: dict[Path, str] = {}
    for entry in entries:
        shown = first_tasks.setdefault(entry.kernel().path, entry.name)
        yield "| " + " | ".join(_row(entry, shown)) + " |"


def _row(entry: Entry, shown: str) -> Iterator[str]:
    """Yield the cells of a task, whose kernel is described where the task `shown` is."""
    task, path = entry.task, entry.kernel_path()
    kernel = entry.kernel()
    yield f"[{entry.name}](kernels/{entry.set}/{path.name})"
    yield _cell(entry.description)
    technique = kernel.description.partition(". ")[0]
    yield _cell(technique) if shown == entry.name else f"As {shown}"
    yield ", ".join(kernel.dtypes)
    yield _shapes(entry)
    yield numbers.quantity(task.flops(SIZE), "FLOP") if task.flops(SIZE) else "-"
    yield numbers.size(task.bytes(SIZE, "float32"))


def _shapes(entry: Entry) -> str:
    values = entry.task.values(SIZE)
    sides = (
        ", ".join("x".join(map(str, each.shape_at(values))) or "1" for each in side.values())
        for side in (entry.task.inputs, entry.task.outputs)
    )
    return " -> ".join(sides)


def _cell(text: str) -> str:
    return text.rstrip(".").replace("|", "\\|")


def main(arguments: Sequence[str]) -> int:
    """Write the file, or with `--check` compare."""
    text = overview(Library(root=ROOT / "kernels"))
    if "--check" not in arguments:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    current = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text
    if not current:
        print(f"{TARGET.name} is not current: run `python tools/kernels_md.py`", file=sys.stderr)
    return int(not current)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
