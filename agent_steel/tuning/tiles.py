"""Tiles in threadgroup memory, for transposes and for products of matrices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent_steel.tuning.edit import (
    SHARING,
    free_name,
    read_extent,
    with_dispatch,
    with_header_lines,
)
from agent_steel.tuning.syntax import (
    Assignment,
    ForLoop,
    KernelFunction,
    LocalVariable,
    NotPlainError,
    Words,
    find_accesses,
    map_accesses,
    names_in,
    read_function,
    spell,
    split_offset,
    split_product,
    split_words,
    strip_index,
    strip_parentheses,
)
from metalbench.kernel.header import Dispatch, Kernel


@dataclass(frozen=True)
class Plane:
    """A kernel with a thread for each element of a matrix: `across` by `down` of them."""

    function: KernelFunction
    dispatch: Dispatch
    position: str
    across: str
    down: str
    sizes: frozenset[str]


def read_plane(kernel: Kernel) -> Plane | None:  # noqa: PLR0911 - a return for each form that is refused
    """Return the kernel as a plane of independent threads; None if it is not one."""
    dispatch = kernel.plain_dispatch
    if dispatch is None or kernel.inouts or kernel.scratches:
        return None
    grid = dispatch.threads_in_grid
    function = read_function(kernel, dispatch)
    if grid is None or len(grid) != 2 or function is None or dispatch.threadgroup_bytes:
        return None
    position = function.find_parameter("thread_position_in_grid")
    if position is None or position.element != "uint2":
        return None
    if sum(bool(each.attribute) for each in function.parameters) != 1:
        return None
    if SHARING.search(function.text) or re.search(r"\b\w+_\b", function.text):
        return None
    across, down = read_extent(grid[0]), read_extent(grid[1])
    if across is None or down is None:
        return None
    return Plane(function, dispatch, position.name, across[0], down[0], across[1] | down[1])


def _axes(words: Words, position: str) -> Words:
    """Write the position's coordinates as the names `across_` and `down_`."""
    found: list[str] = []
    index = 0
    while index < len(words):
        if words[index] == position:
            axis = {"x": "across_", "y": "down_"}.get(
                words[index + 2] if words[index + 1 : index + 2] == (".",) else ""
            )
            if axis is None:
                raise NotPlainError
            found.append(axis)
            index += 3
        else:
            found.append(words[index])
            index += 1
    return tuple(found)


def _is_element(index: Words, row: str, length: Words, column: str) -> bool:
    """Return whether an index is `row * length + column`."""
    terms = split_offset(index, column)
    if terms is None or len(terms) != 1:
        return False
    factors = split_product(terms[0])
    if factors is None:
        return False
    found = sorted(strip_index(each) for each in factors)
    return found == sorted([(row,), *(strip_index(each) for each in split_product(length) or [])])


def _words(text: str) -> Words:
    return tuple(re.findall(r"\w+|\*", text))


def _parameters(plane: Plane) -> str:
    taken = [each for each in plane.function.parameters if each.name != plane.position]
    known = {each.name for each in taken}
    sizes = [f"constant uint& {each}" for each in sorted(plane.sizes - known)]
    return ", ".join([*(each.text for each in taken), *sizes])


class TransposeTiles:
    """A matrix is transposed through square tiles in threadgroup memory."""

    technique = "tiles in threadgroup memory"
    summary = (
        "Tiles pass through threadgroup memory, so that neighbouring threads read and write "
        "neighbouring elements. Rows of a tile are one element longer, against bank conflicts."
    )
    needs = (
        "one dispatch over the elements of a matrix, each of which is stored at the transposed "
        "place, whatever function of the element is stored"
    )

    def versions(self, kernel: Kernel) -> Iterator[str]:  # noqa: PLR0911 - a return for each form that is refused
        """Yield the kernel with tiles."""
        plane = read_plane(kernel)
        if plane is None or len(plane.function.body) != 1:
            return
        (store,) = plane.function.body
        if not isinstance(store, Assignment) or store.operator != "=":
            return
        try:
            target = _axes(store.target, plane.position)
            value = _axes(store.value, plane.position)
            loads = find_accesses(value, plane.function.buffers)
        except NotPlainError:
            return
        across, down = _words(plane.across), _words(plane.down)
        name = target[0]
        if name not in plane.function.buffers or len(loads) != 1 or loads[0][0] == name:
            return
        if not _is_element(loads[0][1], "down_", across, "across_"):
            return
        if not _is_element(target[2:-1], "across_", down, "down_"):
            return
        rest = map_accesses(value, [loads[0][0]], lambda *_: ("value_",))
        if {"across_", "down_"} & names_in(rest):
            return
        yield self._write(kernel, plane, name, loads[0][0], rest)

    @staticmethod
    def _write(kernel: Kernel, plane: Plane, to: str, source: str, value: Words) -> str:
        tile, lines = free_name(kernel, "TILE"), free_name(kernel, "LINES")
        element = plane.function.buffers[source].element
        across, down = plane.across, plane.down
        loop = (
            f"  #pragma unroll\n"
            f"  for (uint i_ = 0; i_ < {tile} / {lines}; ++i_) {{\n"
            f"    #pragma unroll\n"
            f"    for (uint j_ = 0; j_ < {tile} / 32; ++j_) {{\n"
        )
        function = (
            f"[[kernel, max_total_threads_per_threadgroup(32 * {lines})]] void "
            f"{plane.function.name}({_parameters(plane)}, "
            "uint2 tile_ [[threadgroup_position_in_grid]], "
            "uint2 place_ [[thread_position_in_threadgroup]]) {\n"
            f"  threadgroup {element} block_[{tile}][{tile} + 1];\n"
            f"  const uint2 corner_ = tile_ * {tile};\n"
            f"  {element} part_[{tile} / {lines}][{tile} / 32];\n"
            f"{loop}"
            f"      const uint2 at_ = corner_ + place_ + uint2(32 * j_, {lines} * i_);\n"
            f"      part_[i_][j_] = at_.y < {down} && at_.x < {across}\n"
            f"          ? {source}[at_.y * ({across}) + at_.x]\n"
            f"          : {element}(0);\n"
            "    }\n  }\n"
            f"{loop}"
            f"      block_[place_.y + {lines} * i_][place_.x + 32 * j_] = part_[i_][j_];\n"
            "    }\n  }\n"
            "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
            f"{loop}"
            f"      const uint2 in_ = place_ + uint2(32 * j_, {lines} * i_);\n"
            "      const uint2 at_ = corner_.yx + in_;\n"
            f"      if (at_.y < {across} && at_.x < {down}) {{\n"
            f"        const {element} value_ = block_[in_.x][in_.y];\n"
            f"        {to}[at_.y * ({down}) + at_.x] = {spell(value)};\n"
            "      }\n    }\n  }\n}"
        )
        begin, end = plane.function.begin, plane.function.end
        text = kernel.source[:begin] + function + kernel.source[end:]
        groups = f"(ceil_div({across}, {tile}), ceil_div({down}, {tile}))"
        text = with_dispatch(
            text, plane.function.name, f"threadgroups={groups}  threads=(32, {lines})"
        )
        return with_header_lines(
            text,
            [
                f"// tune: {tile} = 32, 64",
                f"// tune: {lines} = 4, 8, 16, 32",
                f"// defaults: cuda {tile} = 64",
            ],
        )


# Products of matrices.


@dataclass(frozen=True)
class MatrixProduct:
    """`out[row, column] = value(sum of left[row, k] * right[k, column])` for k below `depth`."""

    plane: Plane
    left: str
    right: str
    out: str
    depth: str
    total: str
    value: Words


def read_product(kernel: Kernel) -> MatrixProduct | None:  # noqa: PLR0911, PLR0912 - a return for each form that is refused
    """Return the product of matrices that a kernel computes, one element a thread."""
    plane = read_plane(kernel)
    if plane is None or len(plane.function.body) != 3:
        return None
    start, loop, store = plane.function.body
    if not (
        isinstance(start, LocalVariable)
        and isinstance(loop, ForLoop)
        and isinstance(store, Assignment)
        and store.operator == "="
    ):
        return None
    if start.type != "float" or not re.fullmatch(r"0(\.0?f?)?", spell(start.value)):
        return None
    k = loop.start.name
    counted = loop.start.value in (("0",), ("0u",)) and loop.step.value == ("1",)
    if not counted or loop.test[:2] != (k, "<") or len(loop.test) != 3 or len(loop.body) != 1:
        return None
    add = loop.body[0]
    if not isinstance(add, Assignment) or (add.target, add.operator) != ((start.name,), "+="):
        return None
    try:
        target = _axes(store.target, plane.position)
        value = _axes(store.value, plane.position)
        factors = split_words(strip_parentheses(_axes(add.value, plane.position)), "*")
    except NotPlainError:
        return None
    buffers = plane.function.buffers
    across, depth = _words(plane.across), loop.test[2:]
    if len(factors) != 2 or target[0] not in buffers or find_accesses(value, buffers):
        return None
    if {"across_", "down_", k} & names_in(value):
        return None
    if not _is_element(target[2:-1], "down_", across, "across_"):
        return None
    sides: dict[str, str] = {}
    for each in factors:
        bare = each[2:-1] if each[:2] == ("float", "(") and each[-1] == ")" else each
        accesses = find_accesses(bare, buffers)
        if len(accesses) != 1 or bare != (accesses[0][0], "[", *accesses[0][1], "]"):
            return None
        name, index = accesses[0]
        if _is_element(index, "down_", depth, k):
            sides["left"] = name
        elif _is_element(index, k, across, "across_"):
            sides["right"] = name
    if set(sides) != {"left", "right"} or target[0] in sides.values():
        return None
    if buffers[sides["left"]].element != buffers[sides["right"]].element:
        return None
    return MatrixProduct(
        plane, sides["left"], sides["right"], target[0], depth[0], start.name, value
    )


class ProductTiles:
    """A product of matrices by SIMD-group matrices, tiles of which pass through threadgroup memory.

    Each SIMD-group holds an equal part of the tile of the result in registers.
    """

    technique = "SIMD-group matrices"
    summary = (
        "A threadgroup computes a tile of the result with SIMD-group matrices. Tiles of both "
        "factors pass through threadgroup memory, and the next ones are loaded while the present "
        "ones are multiplied. Their shapes are tunables."
    )
    needs = (
        "one dispatch over the elements of the result, each of which is a function of the sum of "
        "products of a row and a column, added in float"
    )

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with tiles of SIMD-group matrices."""
        product = read_product(kernel)
        if product is not None:
            yield _write_product(kernel, product)


_PRODUCT = """\
[[kernel, max_total_threads_per_threadgroup(32 * DOWN * ACROSS)]] void NAME(
    PARAMETERS, uint2 tile_ [[threadgroup_position_in_grid]],
    uint thread_ [[thread_index_in_threadgroup]], uint lane_ [[thread_index_in_simdgroup]],
    uint simdgroup_ [[simdgroup_index_in_threadgroup]]) {
  constexpr uint threads_ = 32 * DOWN * ACROSS;
  // Rows of tiles are 16 bytes longer, against bank conflicts.
  constexpr uint pad_ = 16 / sizeof(ELEMENT);
  constexpr uint left_row_ = DEPTH + pad_, right_row_ = COLUMNS + pad_;
  constexpr uint lefts_ = LINES * DEPTH / 4 / threads_, rights_ = DEPTH * COLUMNS / 4 / threads_;
  constexpr uint strips_ = DOWN * ACROSS * 64;
  threadgroup ELEMENT left_[LINES * left_row_];
  threadgroup ELEMENT right_[DEPTH * right_row_];
  threadgroup float strip_[strips_];
  const uint first_row_ = tile_.y * LINES, first_column_ = tile_.x * COLUMNS;
  const uint rows_ = HEIGHT, columns_ = WIDTH, depth_ = INNER;
  const bool is_whole_ = depth_ % 4 == 0 && columns_ % 4 == 0;
  const uint own_row_ = simdgroup_ / ACROSS * (LINES / DOWN);
  const uint own_column_ = simdgroup_ % ACROSS * (COLUMNS / ACROSS);
  simdgroup_float8x8 sums_[LINES / DOWN / 8][COLUMNS / ACROSS / 8];
  #pragma unroll
  for (uint i_ = 0; i_ < LINES / DOWN / 8; ++i_) {
    #pragma unroll
    for (uint j_ = 0; j_ < COLUMNS / ACROSS / 8; ++j_) {
      sums_[i_][j_] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
  }
  vec<ELEMENT, 4> next_left_[lefts_], next_right_[rights_];
  for (uint k_ = 0; k_ < depth_ + DEPTH; k_ += DEPTH) {
    if (k_ > 0) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      #pragma unroll
      for (uint i_ = 0; i_ < lefts_; ++i_) {
        const uint at_ = thread_ + i_ * threads_;
        *(threadgroup vec<ELEMENT, 4>*)(left_ + at_ / (DEPTH / 4) * left_row_ +
                                        at_ % (DEPTH / 4) * 4) = next_left_[i_];
      }
      #pragma unroll
      for (uint i_ = 0; i_ < rights_; ++i_) {
        const uint at_ = thread_ + i_ * threads_;
        *(threadgroup vec<ELEMENT, 4>*)(right_ + at_ / (COLUMNS / 4) * right_row_ +
                                        at_ % (COLUMNS / 4) * 4) = next_right_[i_];
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (k_ < depth_) {
      #pragma unroll
      for (uint i_ = 0; i_ < lefts_; ++i_) {
        const uint at_ = thread_ + i_ * threads_;
        next_left_[i_] = quad_of(LEFT, first_row_ + at_ / (DEPTH / 4), k_ + at_ % (DEPTH / 4) * 4,
                                 rows_, depth_, is_whole_);
      }
      #pragma unroll
      for (uint i_ = 0; i_ < rights_; ++i_) {
        const uint at_ = thread_ + i_ * threads_;
        next_right_[i_] = quad_of(RIGHT, k_ + at_ / (COLUMNS / 4),
                                  first_column_ + at_ % (COLUMNS / 4) * 4, depth_, columns_,
                                  is_whole_);
      }
    }
    if (k_ > 0) {
      #pragma unroll
      for (uint d_ = 0; d_ < DEPTH; d_ += 8) {
        simdgroup_matrix<ELEMENT, 8, 8> a_[LINES / DOWN / 8];
        #pragma unroll
        for (uint i_ = 0; i_ < LINES / DOWN / 8; ++i_) {
          simdgroup_load(a_[i_], left_ + (own_row_ + 8 * i_) * left_row_ + d_, left_row_);
        }
        #pragma unroll
        for (uint j_ = 0; j_ < COLUMNS / ACROSS / 8; ++j_) {
          simdgroup_matrix<ELEMENT, 8, 8> b_;
          simdgroup_load(b_, right_ + d_ * right_row_ + own_column_ + 8 * j_, right_row_);
          #pragma unroll
          for (uint i_ = 0; i_ < LINES / DOWN / 8; ++i_) {
            simdgroup_multiply_accumulate(sums_[i_][j_], a_[i_], b_, sums_[i_][j_]);
          }
        }
      }
    }
  }
  // Each SIMD-group stores its part through 64 elements of threadgroup memory.
  threadgroup float* own_ = strip_ + 64 * simdgroup_;
  #pragma unroll
  for (uint i_ = 0; i_ < LINES / DOWN / 8; ++i_) {
    #pragma unroll
    for (uint j_ = 0; j_ < COLUMNS / ACROSS / 8; ++j_) {
      simdgroup_store(sums_[i_][j_], own_, 8);
      simdgroup_barrier(mem_flags::mem_threadgroup);
      for (uint e_ = lane_; e_ < 64; e_ += 32) {
        const uint row_ = first_row_ + own_row_ + 8 * i_ + e_ / 8;
        const uint column_ = first_column_ + own_column_ + 8 * j_ + e_ % 8;
        if (row_ < rows_ && column_ < columns_) {
          const float TOTAL = own_[e_];
          OUT[row_ * columns_ + column_] = VALUE;
        }
      }
      simdgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}"""
_QUAD_OF = """\
// Four elements of a row of a matrix, zeros where it has none.
template <typename T>
inline vec<T, 4> quad_of(device const T* matrix, uint row, uint column, uint rows, uint columns,
                         bool is_whole) {
  if (is_whole && row < rows && column < columns) {
    return *(device const vec<T, 4>*)(matrix + (row * columns + column));
  }
  vec<T, 4> quad = vec<T, 4>(T(0));
  for (uint i = 0; i < 4; ++i) {
    if (row < rows && column + i < columns) {
      quad[i] = matrix[row * columns + column + i];
    }
  }
  return quad;
}

"""


def _write_product(kernel: Kernel, product: MatrixProduct) -> str:
    plane = product.plane
    macros = {
        each: free_name(kernel, each) for each in ("LINES", "COLUMNS", "DEPTH", "DOWN", "ACROSS")
    }
    parts = {
        **macros,
        "NAME": plane.function.name,
        "PARAMETERS": _parameters(plane),
        "ELEMENT": plane.function.buffers[product.left].element,
        "HEIGHT": plane.down,
        "WIDTH": plane.across,
        "INNER": product.depth,
        "LEFT": product.left,
        "RIGHT": product.right,
        "OUT": product.out,
        "TOTAL": product.total,
        "VALUE": spell(product.value),
    }
    text = re.sub(rf"\b({'|'.join(parts)})\b", lambda match: parts[match[1]], _PRODUCT)
    begin, end = plane.function.begin, plane.function.end
    source = kernel.source[:begin] + _QUAD_OF + text + kernel.source[end:]
    source = source.replace(
        "#include <metal_stdlib>", "#include <metal_simdgroup_matrix>\n#include <metal_stdlib>", 1
    )
    m, n, k, down, across = macros.values()
    source = with_dispatch(
        source,
        plane.function.name,
        f"threadgroups=(ceil_div({plane.across}, {n}), ceil_div({plane.down}, {m}))  "
        f"threads=(32 * {down} * {across})",
    )
    threads = f"32 * {down} * {across}"
    return with_header_lines(
        source,
        [
            f"// tune: {m} = 64, 32, 128",
            f"// tune: {n} = 64, 32, 128",
            f"// tune: {k} = 16, 8, 32",
            f"// tune: {down} = 2, 1, 4",
            f"// tune: {across} = 2, 1, 4",
            f"// defaults: cuda {k} = 32",
            # A thread loads whole quads, the same number as others do.
            f"// limits: {m} * {k} % (4 * {threads}) == 0",
            f"// limits: {k} * {n} % (4 * {threads}) == 0",
            f"// limits: {m} % (8 * {down}) == 0",
            f"// limits: {n} % (8 * {across}) == 0",
        ],
    )
