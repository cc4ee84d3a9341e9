"""Products of matrices by `mpp::tensor_ops::matmul2d`, and what they should give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np

from metalbench import _core

METAL4 = {"__METAL_VERSION__": "400"}
HEADER = """
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
"""
ELEMENTS = {
    "char": np.dtype(np.int8),
    "uchar": np.dtype(np.uint8),
    "int": np.dtype(np.int32),
    "half": np.dtype(np.float16),
    "bfloat": np.dtype(ml_dtypes.bfloat16),
    "float": np.dtype(np.float32),
}
# A tile of the product for each threadgroup, with operands in device memory.
_IN_MEMORY = """
kernel void product(device LEFT* a [[buffer(0)]], device RIGHT* b [[buffer(1)]],
                    device SUM* c [[buffer(2)]], constant int3& size [[buffer(3)]],
                    constant int3& pitch [[buffer(4)]],
                    uint2 tile [[threadgroup_position_in_grid]]) {
  using Sizes = dextents<int32_t, 2>;
  auto A = tensor<device LEFT, Sizes, tensor_inline>(
      a, TURN_LEFT ? Sizes(size.x, size.z) : Sizes(size.z, size.x), array<int32_t, 2>{1, pitch.x});
  auto B = tensor(b, TURN_RIGHT ? Sizes(size.z, size.y) : Sizes(size.y, size.z),
                  array<int32_t, 2>({1, pitch.y}));
  auto C = tensor(c, Sizes(size.y, size.x), array<int32_t, 2>({1, pitch.z}));
  constexpr auto shape = matmul2d_descriptor(
      ROWS, COLUMNS, DEPTH, TURN_LEFT, TURN_RIGHT, RELAXED,
      ADD ? matmul2d_descriptor::mode::multiply_accumulate : matmul2d_descriptor::mode::multiply);
  matmul2d<shape, execution_simdgroups<GROUPS>> op;
  const int row = tile.y * ROWS, column = tile.x * COLUMNS;
  auto left = TURN_LEFT ? A.slice(row, 0) : A.slice(0, row);
  auto right = TURN_RIGHT ? B.slice(0, column) : B.slice(column, 0);
  auto target = C.slice(column, row);
#if DIRECT
  op.run(left, right, target);
#else
  auto sums = op.get_destination_cooperative_tensor<decltype(left), decltype(right), SUM>();
  if (ADD) sums.load(target);
  op.run(left, right, sums);
  for (int i = 0; i < sums.get_capacity(); ++i) {
    if (sums.is_valid_element(i)) {
      auto at = sums.get_multidimensional_index(i);
      sums[i] += SUM(at[0] % 3 + at[1] % 2);
    }
  }
  sums.store(target);
#endif
}
"""
# The whole product in one SIMD-group, whose registers have the operands.
_IN_REGISTERS = """
template <class T> void fill(thread T& tensor, const device typename T::element_type* from,
                             int pitch) {
  for (int i = 0; i < tensor.get_capacity(); ++i) {
    auto at = tensor.get_multidimensional_index(i);
    tensor.set(i, tensor.is_valid_element(i) ? from[at[1] * pitch + at[0]]
                                             : typename T::element_type(0));
  }
}
kernel void product(device LEFT* a [[buffer(0)]], device RIGHT* b [[buffer(1)]],
                    device SUM* c [[buffer(2)]], constant int3& size [[buffer(3)]],
                    constant int3& pitch [[buffer(4)]]) {
  using Sizes = dextents<int32_t, 2>;
  constexpr auto shape = matmul2d_descriptor(
      ROWS, COLUMNS, DEPTH, TURN_LEFT, TURN_RIGHT, RELAXED,
      ADD ? matmul2d_descriptor::mode::multiply_accumulate : matmul2d_descriptor::mode::multiply);
  matmul2d<shape, execution_simdgroup> op;
  auto left = op.get_left_input_cooperative_tensor<LEFT, RIGHT, SUM>();
  auto right = op.get_right_input_cooperative_tensor<LEFT, RIGHT, SUM>();
  auto sums = op.get_destination_cooperative_tensor<decltype(left), decltype(right), SUM>();
  fill(left, a, pitch.x);
#if DIRECT
  auto B = tensor(b, TURN_RIGHT ? Sizes(size.z, size.y) : Sizes(size.y, size.z),
                  array<int32_t, 2>({1, pitch.y}));
  auto C = tensor(c, Sizes(size.y, size.x), array<int32_t, 2>({1, pitch.z}));
  sums.load(C);
  op.run(left, B, sums);
  sums.store(C);
#else
  fill(right, b, pitch.y);
  fill(sums, c, pitch.z);
  op.run(left, right, sums);
  for (int i = 0; i < sums.get_capacity(); ++i) {
    if (!sums.is_valid_element(i)) continue;
    auto at = sums.get_multidimensional_index(i);
    c[at[1] * pitch.z + at[0]] = sums[i] + SUM(at[0] % 3 + at[1] % 2);
  }
#endif
}
"""


@dataclass(frozen=True)
class Product:
    """A product of matrices: element types, the sizes of a tile, and how it is written.

    `depth` 0 is a k that the operands give. With `in_registers` one SIMD-group has both operands,
    or the left one if `direct`; otherwise `direct` is a destination in memory. `tile_groups` is the
    number of SIMD-groups of a scope.
    """

    left: str = "half"
    right: str = "half"
    sum: str = "float"
    rows: int = 16
    columns: int = 32
    depth: int = 0
    turn_left: bool = False
    turn_right: bool = False
    relaxed: bool = False
    add: bool = False
    direct: bool = False
    in_registers: bool = False
    tile_groups: int = 1

    @property
    def source(self) -> str:
        """The kernel `product`."""
        return HEADER + (_IN_REGISTERS if self.in_registers else _IN_MEMORY)

    @property
    def macros(self) -> dict[str, str]:
        """The macros that the source needs."""
        depth = str(self.depth) if self.depth else "static_cast<int>(dynamic_extent)"
        flags = {"TURN_LEFT": self.turn_left, "TURN_RIGHT": self.turn_right}
        flags |= {"RELAXED": self.relaxed, "ADD": self.add, "DIRECT": self.direct}
        return METAL4 | {
            "LEFT": self.left,
            "RIGHT": self.right,
            "SUM": self.sum,
            "ROWS": str(self.rows),
            "COLUMNS": str(self.columns),
            "DEPTH": depth,
            "GROUPS": str(self.tile_groups),
            **{name: str(int(value)) for name, value in flags.items()},
        }

    def sized(self, size: tuple[int, int, int]) -> Product:
        """Return the product that runs for a size, whose k a constant one must be."""
        return replace(self, depth=size[2]) if self.depth else self


def draw(
    generator: np.random.Generator, shape: tuple[int, int], pitch: int, name: str
) -> np.ndarray:
    """Return small integers in rows of `pitch` elements, NaN or 99 behind each row's end."""
    dtype = ELEMENTS[name]
    least = 0 if name == "uchar" else -3
    behind = 99 if dtype.kind in "iu" else np.nan
    whole = np.full((shape[0], pitch), behind).astype(dtype)
    whole[:, : shape[1]] = generator.integers(least, 4, shape).astype(dtype)
    return whole


def find_error(
    device: _core.Device,
    product: Product,
    size: tuple[int, int, int],
    *,
    padding: int = 0,
    macros: Mapping[str, str] | None = None,
    checked: bool = False,
    seed: int = 0,
) -> float:
    """Run a product of `size` (m, n, k); return the largest error, with that of unwritten memory.

    The operands are small integers, so every type has the exact sums.
    """
    generator = np.random.default_rng(seed)
    m, n, k = size
    shapes = [(k, m) if product.turn_left else (m, k), (n, k) if product.turn_right else (k, n)]
    pitches = [shapes[0][1] + padding, shapes[1][1] + padding, n + padding]
    a = draw(generator, shapes[0], pitches[0], product.left)
    b = draw(generator, shapes[1], pitches[1], product.right)
    c = draw(generator, (m, n), pitches[2], product.sum)
    left, right = a[:, : shapes[0][1]].astype(np.float64), b[:, : shapes[1][1]].astype(np.float64)
    wanted = c.astype(np.float64)
    found = (left.T if product.turn_left else left) @ (right.T if product.turn_right else right)
    if product.add:
        found += wanted[:, :n]
    if not product.direct:
        # The coordinates of elements are those in the tile.
        found += np.arange(n) % product.columns % 3
        found += np.arange(m)[:, None] % product.rows % 2
    wanted[:, :n] = found
    library = device.compile(
        product.source, macros=product.macros | dict(macros or {}), checked=checked
    )
    arguments = {"a": a, "b": b, "c": c, "size": np.array([m, n, k, 0], np.int32)}
    arguments["pitch"] = np.array([*pitches, 0], np.int32)
    pipeline = library.pipeline("product")
    tiles = (-(-n // product.columns), -(-m // product.rows))
    grid = {"threadgroups": tiles, "threads": 32 * product.tile_groups}
    device.run([_core.Dispatch(pipeline, arguments, **grid)])
    same = (c.astype(np.float64) == wanted) | (np.isnan(wanted) & np.isnan(c.astype(np.float64)))
    return 0.0 if same.all() else float(np.nanmax(np.abs(c.astype(np.float64) - wanted)) or np.inf)
