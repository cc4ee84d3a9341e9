"""Products by Hopper's tensor cores: the layout of sums, the copies of operands, and the PTX."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cuda.ptx import Ptx, read

from metalbench.msl import engine
from metalbench.msl.toolchain.clang import COMMON_FLAGS, ELF, METAL4_FLAGS, find_toolchain

SHIM = Path(__file__).parents[1] / "cuda_double" / "shim.h"
THREADS, DEPTH, LINE, ATOM = 256, 64, 128, 1024
SOURCE = """
unsigned __nvvm_shfl_sync_bfly_i32(unsigned, unsigned, unsigned, unsigned);
static bool __nvvm_isspacep_global(const void*) { return true; }
#include <mb/prelude.h>
#include <mb/metal4.h>
#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace mb;
using Layout = WarpgroupLayout<THREADS, ROWS, COLUMNS>;
using Operand = MemoryOperand<half>;
using Copy = OperandCopy<Operand, BY_DEPTH, SIZE, THREADS>;

EXPORT int capacity() { return Layout::capacity; }
EXPORT void locate(int thread, int i, int* found) {
  const int r = Layout::row_slot(i), c = Layout::column_slot(i);
  found[0] = Layout::row(thread, r);
  found[1] = Layout::column(thread, c);
  found[2] = Layout::index(r, c);
}
EXPORT int copy(const half* data, long outer_stride, long depth_stride, int outer, int depth,
                int product_depth, int k, unsigned short* to, int* times) {
  const Operand operand{data, 0, outer_stride, depth_stride, outer, depth};
  for (int thread = 0; thread < THREADS; ++thread) {
    const Copy copy(operand, product_depth, thread);
    copy.each_piece(0, k, [&](u32 place, long at, int count) {
      const long step = BY_DEPTH ? depth_stride : outer_stride;
      for (int e = 0; e < 8; ++e) {
        to[place / 2 + e] = 0;
        if (e < count) __builtin_memcpy(&to[place / 2 + e], data + at + e * step, 2);
      }
      ++times[place / 16];
    });
  }
  return Copy::bytes;
}
EXPORT u32 memory(u32 end, u32 bytes) { return find_product_memory(end, bytes); }
EXPORT u64 descriptor() { return Copy::layout; }
EXPORT u32 place(int outer, int step) { return Copy::place(0, outer, step); }
"""


def build(folder: Path, **macros: int) -> ctypes.CDLL:
    """Compile the code that GPUs run for this machine."""
    given = {"ROWS": 128, "COLUMNS": 128, "SIZE": 64, "BY_DEPTH": 1, **macros, "THREADS": THREADS}
    tools, made = find_toolchain(), folder / "warpgroup.o"
    command = [*tools.clang, "-x", "c++", *COMMON_FLAGS, *METAL4_FLAGS, *ELF.compiler]
    command += ["-DMB_GPU=1", "-DMB_HOPPER=1", "-O1", *(f"-D{k}={v}" for k, v in given.items())]
    command += [*tools.include_flags, "-include", str(SHIM), "-c", "-", "-o", str(made)]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    library = made.with_suffix(".so")
    link = [*tools.linker, "-shared", "-z", "undefs", "-o", str(library), str(made)]
    subprocess.run(link, check=True)
    return ctypes.CDLL(str(library))


@pytest.mark.parametrize(("rows", "columns"), [(128, 32), (128, 256), (256, 128)])
def test_each_element_has_one_thread_and_one_index(tmp_path, rows, columns):
    library = build(tmp_path, ROWS=rows, COLUMNS=columns)
    found, seen = (ctypes.c_int * 3)(), np.zeros((rows, columns), int)
    assert library.capacity() * THREADS == rows * columns
    for thread in range(THREADS):
        for i in range(library.capacity()):
            library.locate(thread, i, found)
            row, column, index = found
            assert index == i
            seen[row, column] += 1
            # The fragment of a warp in NVIDIA's PTX ISA, "wgmma ... D fragment layout for M64".
            lane, warp, tile = thread % 32, thread % 128 // 32, row // 64
            assert row % 64 == 16 * warp + lane // 4 + 8 * (i // 2 % 2)
            assert column == i % (columns // 2) // 4 * 8 + lane % 4 * 2 + i % 2
            assert tile == thread // 128 * (rows // 128) + i // (columns // 2)
    assert (seen == 1).all()


def read_by_descriptor(
    memory: np.ndarray, descriptor: int, start: int, outer: int, k: int, by_depth: int
) -> int:
    """Return an element as the tensor cores read it: PTX ISA, "Shared memory matrix layout"."""
    assert descriptor >> 62 == 1, "the swizzle is that of lines of 128 bytes"
    leading, stride = ((descriptor >> shift & 0x3FFF) * 16 for shift in (16, 32))
    if by_depth:
        address = start + outer // 8 * stride + outer % 8 * LINE + k * 2
    else:
        address = start + outer // 64 * leading + k // 8 * stride + k % 8 * LINE + outer % 64 * 2
    address ^= (address >> 7 & 7) << 4
    return int(memory[address // 2])


@pytest.mark.parametrize("by_depth", [0, 1])
@pytest.mark.parametrize("size", [32, 64, 256])
@pytest.mark.parametrize(
    ("missing", "depth", "used", "k"),
    # `used`: elements of k that a product has, of those that the operand has.
    [(0, 64, 64, 0), (3, 200, 200, 128), (17, 130, 130, 128), (0, 200, 16, 0), (0, 200, 150, 128)],
)
def test_tensor_cores_find_the_copied_elements(tmp_path, by_depth, size, missing, depth, used, k):
    library = build(tmp_path, SIZE=size, BY_DEPTH=by_depth)
    library.descriptor.restype = ctypes.c_uint64
    outer = size - missing
    shape = (outer, depth) if by_depth else (depth, outer)
    given = np.random.default_rng(0).integers(1, 60000, shape, np.uint16)
    matrix = given if by_depth else given.T
    memory, times = np.full(256 * DEPTH * 2, 60001, np.uint16), np.zeros(256 * DEPTH, np.int32)
    strides = [ctypes.c_long(each // 2) for each in matrix.strides]
    size_bytes = library.copy(
        given.ctypes.data_as(ctypes.c_void_p),
        *strides,
        *(outer, depth, used, k),
        *(each.ctypes.data_as(ctypes.c_void_p) for each in (memory, times)),
    )
    assert (times[: size_bytes // 16] == 1).all()
    assert (times[size_bytes // 16 :] == 0).all()
    expected = np.zeros((max(size, 64), DEPTH), np.uint16)
    inside = matrix[:, k : min(k + DEPTH, used)]
    expected[: inside.shape[0], : inside.shape[1]] = inside
    layout = library.descriptor()
    # Left operands are read 64 rows at a time, right ones as a whole.
    for first in range(0, size, 64):
        for step in range(DEPTH // 16):
            start = library.place(first, step)
            for o in range(min(size, 64)):
                for inner in range(16):
                    found = read_by_descriptor(memory, layout, start, o, inner, by_depth)
                    assert found == expected[first + o, step * 16 + inner]
    for o in range(size):
        found = read_by_descriptor(memory, layout, library.place(0, 1), o, 5, by_depth)
        assert found == expected[o, 16 + 5]


def test_stages_leave_the_memory_of_arguments_alone(tmp_path):
    library = build(tmp_path)
    for end in range(100_000, 102_100, 16):
        begin = library.memory(end, 3 * 32_768 + ATOM)
        assert begin % ATOM == 0
        assert end - 3 * 32_768 - ATOM <= begin <= end - 3 * 32_768


KERNEL = """
#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
kernel void k(device T* a, device T* b, device T* c, constant int& n,
              uint2 group [[threadgroup_position_in_grid]]) {
  auto left = tensor(a, dextents<int, 2>(n, n)), right = tensor(b, dextents<int, 2>(n, n));
  auto all = tensor(c, dextents<int, 2>(n, n));
  constexpr auto shape = matmul2d_descriptor(M, N, static_cast<int>(dynamic_extent), LEFT, RIGHT);
  matmul2d<shape, execution_simdgroups<GROUPS>> op;
  const int row = group.y * M, column = group.x * N;
  auto x = LEFT ? left.slice(row, 0) : left.slice(0, row);
  auto y = RIGHT ? right.slice(0, column) : right.slice(column, 0);
  auto sums = op.get_destination_cooperative_tensor<decltype(x), decltype(y), T>();
  op.run(x, y, sums);
  auto target = all.slice(column, row);
  sums.store(target);
}
"""


def compile_kernel(architecture: str = "sm_90", **macros: object) -> Ptx:
    given = {"T": "half", "M": 128, "N": 128, "GROUPS": 4, "LEFT": "false", "RIGHT": "false"}
    given |= {**macros, "__METAL_VERSION__": 400}
    program = engine.parse(KERNEL, macros={name: str(value) for name, value in given.items()})
    return read(engine.build_for_gpu(program, "k", architecture=architecture).path)


@pytest.mark.parametrize(
    ("macros", "instruction", "count"),
    [
        ({}, "m64n128k16.f32.f16.f16", 8),
        ({"T": "bfloat", "RIGHT": "true"}, "m64n128k16.f32.bf16.bf16", 8),
        ({"N": 256, "GROUPS": 8, "LEFT": "true"}, "m64n256k16.f32.f16.f16", 4),
        ({"M": 64, "N": 32}, "m64n32k16.f32.f16.f16", 4),
    ],
)
def test_products_are_instructions_of_warpgroups(macros, instruction, count):
    ptx = compile_kernel(**macros)
    assert ptx.target[1].startswith("sm_90a")
    products = re.findall(r"wgmma\.mma_async\.sync\.aligned\.(\S+) .*, (\d), (\d); \}", ptx.text)
    # One loop is for whole tiles, another for tiles at edges. Tiles of 32 columns have only this.
    assert len(products) == (1 if macros.get("N") == 32 else 2) * count
    turned = tuple(
        str(int((macros.get(side) == "true") == is_left))
        for side, is_left in (("LEFT", True), ("RIGHT", False))
    )
    assert set(products) == {(instruction, *turned)}
    rows, columns = macros.get("M", 128), max(macros.get("N", 128), 64)
    if macros.get("RIGHT") == "true":
        columns = macros.get("N", 128)
    told = {int(each) for each in re.findall(r"// mb_product_bytes (\d+)", ptx.text)}
    assert len(told) == 1
    stages, rest = divmod(told.pop() - ATOM, (rows + columns) * LINE)
    assert rest == 0
    assert 2 <= stages <= 6
    assembler = shutil.which("ptxas")
    if assembler:
        command = [assembler, "-arch=sm_90a", "-o", "/dev/null", "-"]
        said = subprocess.run(command, input=ptx.text, capture_output=True, text=True, check=False)
        assert said.returncode == 0, said.stderr
        assert "serialized" not in said.stderr


@pytest.mark.parametrize(
    ("architecture", "macros"),
    [("", {}), ("sm_80", {}), ("sm_100", {}), ("sm_90", {"T": "float"}), ("sm_90", {"M": 96})],
)
def test_other_products_have_no_instructions_of_warpgroups(architecture, macros):
    text = compile_kernel(architecture, **macros).text
    assert "wgmma" not in text
    assert "mb_product_bytes" not in text


def test_code_without_tensors_is_for_every_gpu():
    program = engine.parse("kernel void k(device float* x, uint i [[thread_position_in_grid]]) "
                           "{ x[i] = 1; }")  # fmt: skip
    ptx = read(engine.build_for_gpu(program, "k", architecture="sm_90").path)
    assert ptx.target == ("7.8", "sm_80")
