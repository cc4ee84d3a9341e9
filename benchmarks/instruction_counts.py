"""Operations and accesses of our kernels and of MLX's own, counted by one engine.

    python benchmarks/instruction_counts.py [--mlx FOLDER] [NAME ...]

Both kernels of a row get the same inputs, their results are compared, and counted builds of the
`cpu` device count what every thread does. Ours run with the first value of each `// tune:` line, as
on a Mac. MLX's run with the instance and the launch that its host code chooses for that size on a
GPU without matrix units; where the choice depends on the chip, the row names it.

Every kernel is counted twice. Arithmetic and accesses are those of LLVM's IR after its passes for
one thread (-O2, all calls inlined, nothing vectorised), as a compiler for a GPU also has it before
it selects instructions. Calls of Metal's functions (special functions, SIMD-group functions,
matrices, barriers) are counted as the source has them, and the arithmetic inside them is not. Not
counted are copies, branches, conversions between types of floats, and addresses that are a base
plus an index. Our kernels compile with the `// math:` of their headers, MLX's without fast math, as
each is in practice.

Columns are for a unit of work, which is an element of input, or a multiply-add of a product:

    float      additions, multiplications and fused ones (one each), of all threads
    other      comparisons, minimum, maximum, rounding of floats, and conversions of integers
    special    exponentials and roots, and divisions of floats
    integer    of all kinds, comparisons and divisions included
    loads      accesses of device memory that read; then bytes read and written
    shared     accesses of threadgroup memory, then their bytes
    simd       SIMD-group functions, times the 32 lanes that call them
    matrix     8 x 8 x 8 products of SIMD-groups, times their 512 multiply-adds
    barriers   in each SIMD-group, in total: the only column that is not for a unit

Sizes are smaller than those of the rows' names where the counts of a unit do not depend on it: rows
of a matrix, tiles of a product, heads. The depth of products, the length of rows and the number of
keys are as named, but for prefill (512 tokens, so that blocks on the diagonal weigh more) and
convolution (one image of 18 x 18).

The sources of two of MLX's kernels are not in its wheel: `rms_norm` and `argmax` need `--mlx`, a
checkout of MLX.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from mlx_kernels import matrices, rows
from mlx_kernels.bench import Argument, ints, longs, zeros
from mlx_kernels.check_products import packed
from mlx_kernels.family import FOLDER, Family, Instance, of
from mlx_kernels.wheel import headers

from metalbench import _core
from metalbench.kernel.library import find
from metalbench.kernel.memory import COUNTS, CountsBuffer, Table
from metalbench.kernel.prepare import Geometry, compile_kernel
from metalbench.msl import engine
from metalbench.msl.ir.model import BasicBlock
from metalbench.msl.ir.module import Module
from metalbench.msl.toolchain import compile_kernel as compile_kernel_module
from metalbench.msl.transforms import counting
from metalbench.profiling.counts import Counts, DispatchCounts, read_counts, read_dispatch_counts
from metalbench.task.workload import workload

TIME_LIMIT = 300.0
TYPES = {"float32": "float", "float16": "half"}
Arrays = Mapping[str, np.ndarray]
Size = Mapping[str, int]


@dataclass(frozen=True)
class Launch:
    """One dispatch of a kernel of MLX's, its arguments in the order of its parameters."""

    family: Family
    instance: Instance
    arguments: Sequence[Argument]
    groups: tuple[int, ...]
    threads: tuple[int, ...]
    constants: Mapping[int, bool | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A kernel of ours, and how MLX's host code launches the same work.

    `launches` takes the inputs and the size, and returns MLX's dispatches and their output. `units`
    is the work at that size. `why` explains what is larger in ours.
    """

    title: str
    kernel: str
    dtype: str
    size: Size
    unit: str
    units: Callable[[Size], int]
    launches: Callable[[Arrays, Size], tuple[list[Launch], np.ndarray]]
    why: str = ""


@dataclass(frozen=True)
class Row:
    """The cells of one side of a case, in the order of COLUMNS."""

    cells: tuple[float, ...]

    @classmethod
    def read(cls, written: Sum, optimised: Sum, units: int) -> Row:
        """Return the sums of two builds for a unit."""
        (calls, waits), (c, _) = written, optimised
        work = (
            c.float_add + c.float_multiply + c.float_fma,
            c.float_compare,
            calls.float_special + c.float_divide,
            c.integer + c.integer_divide,
            # LLVM's passes also split vectors, as a processor passes them in two registers.
            min(c.device_reads, calls.device_reads),
            c.device_bytes_read,
            c.device_bytes_written,
            min(each.threadgroup_reads + each.threadgroup_writes for each in (c, calls)),
            c.threadgroup_bytes_read + c.threadgroup_bytes_written,
            32 * calls.simdgroup_operations,
            8**3 * calls.matrix_multiplies,
        )
        return cls((*(each / units for each in work), waits))


# Counts of all dispatches, and the barriers that a SIMD-group reaches in all of them.
Sum = tuple[Counts, float]


def _add(dispatches: Sequence[DispatchCounts]) -> Sum:
    total = Counts()
    for each in dispatches:
        total.add(each.total)
    return total, sum(each.total.barriers / each.simdgroups for each in dispatches)


COLUMNS = (
    "float",
    "other",
    "special",
    "integer",
    "loads",
    "B read",
    "B written",
    "shared",
    "B shared",
    "simd",
    "matrix",
    "barriers",
)


# MLX's launches, as its host code in mlx/backend/metal chooses them.

RMS_NORM = Family("rms_norm", ("rms_norm.metal",), (of("rmsfloat32"),), constants={20: True})
ARG_REDUCE = Family("arg_reduce", ("arg_reduce.metal",), (of("argmax_float32"),))


def _softmax(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
    out = zeros(x["x"].shape)
    instance = of("softmax_single_row", "float")
    arguments = [x["x"], out, np.int32(size["cols"])]
    threads = (-(-size["cols"] // 128) * 32,)
    return [Launch(rows.SOFTMAX, instance, arguments, (size["rows"],), threads)], out


def _rms_norm(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
    # Without a weight the host passes one element with stride 0.
    out, weight = zeros(x["x"].shape), np.ones(1, np.float32)
    scalars = [np.float32(1e-5), np.uint32(size["cols"]), np.uint32(0)]
    arguments = [x["x"], weight, out, *scalars]
    threads = (-(-size["cols"] // 128) * 32,)
    return [Launch(RMS_NORM, of("rmsfloat32"), arguments, (size["rows"],), threads)], out


def _argmax(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
    out = zeros(size["rows"], "uint32_t")
    shape = [ints(size["rows"]), longs(size["cols"]), longs(1)]
    arguments = [x["x"], out, *shape, np.uint64(1), np.int64(1), np.uint64(size["cols"])]
    launch = Launch(ARG_REDUCE, of("argmax_float32"), arguments, (1, size["rows"]), (1024, 1))
    return [launch], out


def _sort(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
    # Without the copy of the result at the end, which reads and writes another 4 bytes each.
    count, lines = size["cols"], size["rows"]
    blocks, kinds = -(-count // 2048), ("float", "uint32_t", True, 512, 4)
    values = [zeros((lines, count)) for _ in range(2)]
    indices = [zeros((lines, count), "uint32_t") for _ in range(2)]
    arguments: list[Argument] = [x["x"], values[0], indices[0], np.int32(count), np.int32(1)]
    arguments += [np.int32(1), ints(lines), longs(count)]
    groups = (blocks, lines)
    launches = [Launch(rows.SORT, of("mb_block_sort", *kinds), arguments, groups, (512,))]
    tiles = 2
    while tiles // 2 < blocks:
        parts, numbers = zeros((lines, blocks + 1), "uint32_t"), (count, tiles, blocks)
        arguments = [parts, values[0], indices[0], *map(np.int32, numbers)]
        partition = of("mb_block_partition", *kinds)
        launches.append(Launch(rows.SORT, partition, arguments, (1, lines), (blocks + 1,)))
        arguments = [parts, values[0], indices[0], values[1], indices[1]]
        arguments += map(np.int32, numbers)
        launches.append(Launch(rows.SORT, of("mb_block_merge", *kinds), arguments, groups, (512,)))
        values.reverse()
        indices.reverse()
        tiles *= 2
    return launches, values[0]


def _qmv(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
    out = zeros(size["rows"], "half")
    matrix = [x["w"], x["w_scales"], x["w_biases"]]
    batch = [np.int32(1), ints(1), longs(0), np.int32(1), ints(1), longs(0), longs(0), longs(0)]
    sizes = [np.int32(size["cols"]), np.int32(size["rows"])]
    arguments = [*matrix, x["x"], out, *sizes, *batch]
    instance = of("affine_qmv_fast", "half", 64, 4, False)
    return [Launch(matrices.QUANTIZED, instance, arguments, (1, size["rows"] // 8), (32, 2))], out


def _gemm(simdgroups: tuple[int, int]) -> Callable[[Arrays, Size], Any]:
    def launches(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
        m, n, k = (size[each] for each in "mnk")
        out, tiles = zeros((m, n), "half"), (n // 64, m // 64)
        params = packed(
            m=m, n=n, k=k, lda=k, ldb=n, ldd=n, tiles_n=tiles[0], tiles_m=tiles[1],
            l_batch_a=0, l_batch_b=0, l_batch_d=0, swizzle=0, k_iterations=k // 16, batch_ndim=1,
        )  # fmt: skip
        instance = of("gemm", "half", 64, 64, 16, *simdgroups, False, False, "float")
        arguments, threads = [x["a"], x["b"], out, params], (32, simdgroups[1], simdgroups[0])
        return [Launch(matrices.STEEL_GEMM_FUSED, instance, arguments, tiles, threads)], out

    return launches


def _decode(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
    heads, shared, keys, dims = (size[name] for name in ("heads", "kv_heads", "keys", "dims"))
    blocks, constants = 64, {**matrices.SDPA_VECTOR.constants, 26: 64}
    partial = zeros((heads, blocks, dims), "half")
    sums, levels, out = zeros((heads, blocks)), zeros((heads, blocks)), zeros((heads, dims), "half")
    stride = x["k"].shape[1] * dims
    strides = [np.uint64(each) for each in (stride, dims, stride, dims)]
    arguments = [x["q"], x["k"], x["v"], partial, sums, levels, np.int32(keys), *strides]
    arguments.append(np.float32(dims**-0.5))
    first = of("sdpa_vector_2pass_1", "half", dims, dims)
    groups, threads = (shared, 1, blocks), (32, heads // shared, 1)
    rest = [partial, sums, levels, out, np.int32(blocks)]
    second = of("sdpa_vector_2pass_2", "half", dims)
    family = matrices.SDPA_VECTOR
    return [
        Launch(family, first, arguments, groups, threads, constants),
        Launch(family, second, rest, (heads, 1), (1024,), constants),
    ], out


def _prefill(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
    heads, tokens, dims = size["heads"], size["tokens"], size["dims"]
    out, strides = zeros(x["q"].shape, "half"), (heads * tokens * dims, tokens * dims, dims)
    own = (size["kv_heads"] * tokens * dims, tokens * dims, dims)
    params = packed(
        b=1, h=heads, d=dims, ql=tokens, kl=tokens, gqa=heads // size["kv_heads"],
        f_scale=dims**-0.5, nq=tokens // 32, nk=tokens // 16, nq_aligned=tokens // 32,
        nk_aligned=tokens // 16, ql_rem=0, kl_rem=0, ql_off=0,
        l_q=strides, l_k=own, l_v=own, l_o=strides,
    )  # fmt: skip
    instance = of("attention", "half", 32, 16, dims, dims, 4, 1, "half", "float")
    arguments, groups = [x["q"], x["k"], x["v"], out, params], (tokens // 32, heads, 1)
    family, causal = matrices.STEEL_ATTENTION, {301: True}
    return [Launch(family, instance, arguments, groups, (32, 4, 1), causal)], out


def _convolution(x: Arrays, size: Size) -> tuple[list[Launch], np.ndarray]:
    given, weights = x["x"], x["w"]
    batch, height, width, channels = given.shape
    filters, down, across = len(weights), height - 2, width - 2
    out, pixels = zeros((batch, down, across, filters), "half"), batch * down * across
    steps = [tuple(s // 2 for s in each.strides) for each in (given, weights, out)]
    params = packed(
        n=batch, c=channels, o=filters, i_s=(height, width), w_s=(3, 3), o_s=(down, across),
        step=(1, 1), pad=(0, 0), kdil=(1, 1), idil=(1, 1),
        l_in=steps[0], l_wt=steps[1], l_out=steps[2], groups=1, flip=0,
    )  # fmt: skip
    row, column = steps[0][1], steps[0][2]
    tiles = (filters // 64, pixels // 64)
    gemm = packed(
        m=pixels, n=filters, k=9 * channels, steps=9 * (channels // 16), jump_w=column,
        jump_h=row - 2 * column, jump_c=16 - 2 * row - 2 * column,
        tiles_n=tiles[0], tiles_m=tiles[1], swizzle=0,
    )  # fmt: skip
    instance = of("implicit_gemm_conv_2d", "half", 64, 64, 16, 2, 2, 0, True)
    arguments = [given, weights, out, params, gemm]
    return [Launch(matrices.STEEL_CONV, instance, arguments, (*tiles, 1), (32, 2, 2))], out


def _elements(size: Size) -> int:
    return size["rows"] * size["cols"]


def _gemm_work(size: Size) -> int:
    return size["m"] * size["n"] * size["k"]


def _decode_work(size: Size) -> int:
    return 2 * size["heads"] * size["keys"] * size["dims"]


_PRODUCT = dict(m=64, n=128, k=4096)
_KEYS = dict(heads=4, kv_heads=1, keys=32768, dims=128)

CASES = {
    "softmax": Case(
        "softmax of 4096 columns", "softmax", "float32", dict(rows=2, cols=4096),
        "element", _elements, _softmax,
        "Each thread rescales its sum three times and divides itself (3 exponentials and a "
        "division for 8 elements), which saves 4 barriers",
    ),
    "rms_norm": Case(
        "rms_norm of a row of 4096", "rms_norm", "float32", dict(rows=1, cols=4096),
        "element", _elements, _rms_norm,
        "Each thread takes the root itself, which saves 2 barriers",
    ),
    "argmax": Case(
        "argmax of 152064", "argmax", "float32", dict(rows=1, cols=152064),
        "element", _elements, _argmax,
        "The first NaN is found, which MLX does not do: two more comparisons for 4 "
        "elements. Each thread loads its best 4 elements again to find which one it is",
    ),
    "sort": Case(
        "sort of 4096", "sort_rows", "float32", dict(rows=1, cols=4096),
        "element", _elements, _sort,
        "Neighbours are exchanged with shuffles instead of threadgroup memory, and floats "
        "become integers of the same order first",
    ),
    "qmv": Case(
        "qmv, 4 bits, 4096 columns", "qmv4", "float16", dict(rows=64, cols=4096),
        "multiply-add", _elements, _qmv,
    ),
    "gemm": Case(
        "gemm, depth 4096 (g, p, d)", "rect_mm", "float16", _PRODUCT,
        "multiply-add", _gemm_work, _gemm((1, 2)),
        "MLX has 2 SIMD-groups for a tile, ours 4 of half the size, which read operands "
        "more often; with SIMD_ROWS = 1 ours have 2 as well. Ours load 8 elements at once, "
        "MLX's 16",
    ),
    "gemm_max": Case(
        "gemm, depth 4096 (s)", "rect_mm", "float16", _PRODUCT,
        "multiply-add", _gemm_work, _gemm((2, 2)),
        "The result passes through threadgroup memory",
    ),
    "decode": Case(
        "sdpa decode (g, p, s)", "sdpa_decode_2pass", "float16", _KEYS,
        "multiply-add", _decode_work, _decode,
        "Four SIMD-groups share a span of keys and join their sums in threadgroup memory; "
        "what a span leaves is float32, MLX's is half",
    ),
    "prefill": Case(
        "sdpa prefill, causal", "sdpa_causal", "float16",
        dict(heads=1, kv_heads=1, tokens=512, dims=128), "multiply-add",
        lambda size: size["heads"] * size["tokens"] * (size["tokens"] + 1) * size["dims"],
        _prefill,
        "Scores pass through threadgroup memory, and earlier results are rescaled by a product "
        "with a diagonal matrix",
    ),
    "conv": Case(
        "conv 3x3, 64 channels", "conv2d", "float16",
        dict(batch=1, height=18, width=18, channels=64, filters=64), "multiply-add",
        lambda size: 256 * 9 * size["channels"] * size["filters"], _convolution,
        "The tap and the channel of a load are computed from the depth. The result passes "
        "through threadgroup memory",
    ),
}  # fmt: skip


def count_ours(device: _core.Device, case: Case) -> tuple[list[DispatchCounts], np.ndarray]:
    """Return the counts of our kernel with its defaults for Metal, and its result."""
    (entry,) = find([case.kernel])
    kernel, task = entry.kernel(), entry.task
    first = {name: values[0] for name, values in kernel.tunables.items()}
    compiled = compile_kernel(
        device, kernel, task, dtype_name=case.dtype, tunables=first, counted=True
    )
    bound = compiled.bind(_draw(case))
    device.run(bound.dispatches, time_limit=TIME_LIMIT)
    return read_counts(compiled, bound), bound.read(next(iter(task.outputs)))


def _draw(case: Case) -> Any:
    (entry,) = find([case.kernel])
    size = ",".join(f"{name}={value}" for name, value in case.size.items())
    return workload(entry.task, size, dtype_name=case.dtype)


def count_mlx(device: _core.Device, folders: Sequence[Path], launch: Launch) -> DispatchCounts:
    """Run one of MLX's kernels in a counted build and return its counts."""
    family, name = launch.family, launch.instance.host_name
    source = Family(family.name, family.headers, (launch.instance,), before=family.before).source
    options: dict[str, Any] = dict(
        filename=f"{family.name}.metal", include_dirs=[str(folder) for folder in folders]
    )
    constants: dict[str | int, bool | int] = {**family.constants, **launch.constants}
    library = device.compile(source, **options, fast_math=False, counted=True)
    pipeline = library.pipeline(name, constants=constants)
    built = engine.build(
        engine.parse(source, **options), name, constants, fast_math=False, counted=True
    )
    counts = CountsBuffer(device, Table(**compile_kernel_module.numbers_of(Path(built.path))))
    names = [each.name for each in pipeline.arguments if each.name != COUNTS]
    bound = {**dict(zip(names, launch.arguments, strict=True)), COUNTS: counts.buffer}
    dispatch = _core.Dispatch(pipeline, bound, threads=launch.threads, threadgroups=launch.groups)
    device.run([dispatch], time_limit=TIME_LIMIT)
    x, y, z = (*launch.threads, 1, 1)[:3]
    across, down, deep = (*launch.groups, 1, 1)[:3]
    return read_dispatch_counts(
        Geometry(name, (x, y, z), (across, down, deep), False, {}),
        counts,
        {i for i, each in enumerate(pipeline.arguments) if each.address_space == "constant"},
    )


def count_sides(name: str, folders: Sequence[Path]) -> tuple[Sum, Sum]:
    """Return the counts of ours and MLX's.

    Raise ValueError if their results differ, or if fewer bytes were counted than the inputs have.
    """
    device, case = _core.open("cpu"), CASES[name]
    mine, result = count_ours(device, case)
    launches, other = case.launches(_draw(case).inputs, case.size)
    theirs = [count_mlx(device, folders, launch) for launch in launches]
    wide = [each.astype(np.float64).reshape(-1) for each in (result, other)]
    bound = 2e-2 if case.dtype == "float16" else 1e-5
    if not np.allclose(*wide, rtol=bound, atol=bound * float(np.abs(wide[0]).max())):
        raise ValueError(f"{case.title}: the results differ, so the work does too")
    # One in a hundred, for inputs with rows that are not read.
    least = 0.99 * sum(each.nbytes for each in _draw(case).inputs.values())
    both = _add(mine), _add(theirs)
    for side, (counts, _) in zip(("ours", "MLX's"), both, strict=True):
        if counts.device_bytes_read < least:
            raise ValueError(
                f"{case.title}: {counts.device_bytes_read} B were counted for {side}, but the "
                f"inputs have at least {least:.0f} B: the counts are wrong"
            )
    return both


# This engine computes their addresses lane by lane, which a GPU does not.
MATRIX_MEMORY = ("simdgroup_load", "simdgroup_store")
CONVERSIONS = ("uitofp", "sitofp", "fptoui", "fptosi")


def count_as_gpu(cache: str) -> None:
    """Let counted builds of this process count what a GPU does, with a separate cache."""
    os.environ["METALBENCH_CACHE"] = cache
    counting._BY_NAME.update(dict.fromkeys(MATRIX_MEMORY, "simdgroup_memory"))
    counting._OPERATIONS.update(dict.fromkeys(CONVERSIONS, "compare"))


# As for analyses of speed (msl/toolchain/analysis_ir.py).
OPTIMISED = (
    "-O2",
    *("-fno-vectorize", "-fno-slp-vectorize"),
    *("-mllvm", "-inline-threshold=20000"),
    *("-mllvm", "-unroll-runtime=false"),
    *("-mllvm", "-indvars-widen-indvars=false"),
    *("-mllvm", "-disable-loop-idiom-all"),
    # It makes sums of a vector's components wider for the sake of a processor.
    *("-mllvm", "-disable-vector-combine"),
    "-DMB_COUNTED=1",
    "-DMB_MATRIX_DISTRIBUTED=1",
)


def optimise_before_counting(cache: str) -> None:
    """Let counted builds of this process optimise first, in addition."""
    count_as_gpu(cache)
    generate = compile_kernel_module.generate_ir
    as_written = ("-O0", "-disable-O0-optnone")

    def generate_optimised(code: Any, tools: Any, options: Sequence[str], translate: Any) -> str:
        # Each of clang's own options follows an `-Xclang`.
        flags = list(options)
        for each in as_written:
            place = flags.index(each)
            del flags[place - (flags[place - 1] == "-Xclang") : place + 1]
        flags += OPTIMISED
        parsing = [*flags, "-Xclang", "-disable-llvm-passes"]
        text = generate(code, tools, parsing, translate)
        return compile_kernel_module.optimise(text, tools, translate, flags)

    compile_kernel_module.generate_ir = generate_optimised
    compile_kernel_module.count = count_optimised


def count_optimised(module: Module) -> counting.Counted:
    """Count a module whose passes have left instructions without a line.

    Passes remove the line where several instructions become one, or where one moves. These are
    counted at a line of the same block, or else of the same function.
    """
    places = counting.SourceLines(module.metadata)
    for function in module.functions.values():
        located = [_find_line(places, each) for each in function.blocks.values()]
        any_line = next(filter(None, located), "")
        for block, line in zip(function.blocks.values(), located, strict=True):
            for each in block.instructions:
                each.place = each.place or line or any_line
    return counting.count(module)


def _find_line(places: counting.SourceLines, block: BasicBlock) -> str:
    """Return the first location in a block that is one of a kernel's or its headers' code."""
    for each in block.instructions:
        place = places.find(each.place) if each.place else None
        if place is not None and not place.event and not place.is_machinery:
            return each.place
    return ""


def write_gemm(include: Path, target: Path) -> None:
    """Write the header of MLX's matrix product without a read of an argument that it then ignores.

    Compilers remove the read. A build that counts what is written does it, and nothing is bound.
    """
    name = f"{FOLDER}steel/gemm/kernels/steel_gemm_fused.h"
    (target / name).parent.mkdir(parents=True)
    text = (include / name).read_text()
    (target / name).write_text(text.replace("addmm_params->alpha, addmm_params->beta", "1, 0"))


def compare_sides(
    written: ProcessPoolExecutor,
    optimised: ProcessPoolExecutor,
    name: str,
    folders: Sequence[Path],
) -> tuple[Row, Row]:
    """Return what ours and MLX's do for a unit."""
    sums = [pool.submit(count_sides, name, folders).result() for pool in (written, optimised)]
    units = CASES[name].units(CASES[name].size)
    mine, theirs = (Row.read(*pair, units) for pair in zip(*sums, strict=True))
    return mine, theirs


def _show(case: Case, ours: Row, theirs: Row) -> None:
    print(f"\n{case.title}, {case.dtype}, for each {case.unit} ({case.kernel})")
    for name, row in (("ours", ours), ("MLX", theirs)):
        print(f"  {name:6}" + "".join(f"{cell:>10.4g}" for cell in row.cells))
    pairs = zip(COLUMNS, ours.cells, theirs.cells, strict=True)
    larger = [name for name, mine, other in pairs if mine > 1.02 * other]
    if larger:
        print(f"  larger: {', '.join(larger)}" + (f". {case.why}" if case.why else ""))


def main() -> None:
    """Count the named cases, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mlx", type=Path, help="a checkout of MLX, for rms_norm and argmax")
    parser.add_argument("names", nargs="*", choices=[[], *CASES], metavar="NAME")
    given = parser.parse_args()
    print(" " * 8 + "".join(f"{name:>10}" for name in COLUMNS))
    context = get_context("spawn")
    failed: list[str] = []
    with (
        TemporaryDirectory() as cache,
        ProcessPoolExecutor(1, context, count_as_gpu, (f"{cache}/written",)) as written,
        ProcessPoolExecutor(
            1, context, optimise_before_counting, (f"{cache}/optimised",)
        ) as optimised,
    ):
        folders = [Path(cache) / "changed", headers(), *([given.mlx] if given.mlx else [])]
        write_gemm(folders[1], folders[0])
        for name in given.names or CASES:
            if name in ("rms_norm", "argmax") and not given.mlx:
                print(f"\n{CASES[name].title}: needs --mlx")
                continue
            try:
                _show(CASES[name], *compare_sides(written, optimised, name, folders))
            except ValueError as error:
                failed.append(name)
                print(f"\n{error}")
            sys.stdout.flush()
    sys.exit(f"not counted: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
