"""The PTX of StableHLO programs is valid."""

from __future__ import annotations

from cuda.ptx import check_sound, read

from metalbench.hlo.codegen.library import INCLUDE
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.plan import build_plan, format_source
from metalbench.kernel.source_files import include_folders
from metalbench.msl import engine

# Rows scaled to sum 1, times a matrix, and a product of halves in batches.
PROGRAM = """func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x50xf32>, %a: tensor<2x20x33xf16>,
    %b: tensor<2x33x20xf16>) -> (tensor<40x50xf32>, tensor<2x20x20xf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<40x64xf32>, tensor<f32>) -> tensor<40xf32>
  %m = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<40xf32>) -> tensor<40x64xf32>
  %n = stablehlo.divide %x, %m : tensor<40x64xf32>
  %p = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0]
    : (tensor<40x64xf32>, tensor<64x50xf32>) -> tensor<40x50xf32>
  %q = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x20x33xf16>, tensor<2x33x20xf16>) -> tensor<2x20x20xf16>
  return %p, %q : tensor<40x50xf32>, tensor<2x20x20xf16>
}"""


def test_products_by_tiles_of_matrices_are_ptx() -> None:
    made = build_plan(import_program(PROGRAM), 3, device="cuda")
    kernels = list(made.iterate_kernels())
    names = sorted(each.name.rpartition("_")[0] for each in kernels)
    assert names == ["dot_general", "row_product"]
    program = engine.parse(format_source(made), include_dirs=include_folders(None, [INCLUDE]))
    for kernel in kernels:
        built = engine.build_for_gpu(program, kernel.name, None, fast_math=False)
        check_sound(read(built.path), threads=kernel.group)
