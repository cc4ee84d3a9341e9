// Products by matmul2d of which one operand is not a matrix in memory: weights of few bits, or the
// patches of a convolution. Threads make TileK columns of it at a time, from a source of
// tile_sources.h, as rows of a tensor in threadgroup memory. The other operand is a tensor in
// device memory (tensor_tiles.h). There are two such tensors: while one is multiplied, threads that
// are done fill the other, so a step has one barrier.
#pragma once
#include "metalbench/tensor_tiles.h"
#include "metalbench/tile_sources.h"

namespace metalbench {

// Lines of a source, Depth elements of each at a time. A thread makes eight neighbouring elements,
// of the same lines in every step.
template <typename Source, int Lines, int Depth, int Threads>
struct StagedLines {
  using T = typename Source::element;
  static constexpr constant uint kPieces = Depth / 8;
  static constexpr constant uint kTurns = Lines * kPieces / Threads;
  static_assert(Threads % kPieces == 0 && Lines * kPieces % Threads == 0,
                "threads have the same number of pieces, each in one place of all lines");
  Source source;
  typename Source::Line lines[kTurns];
  uint within;
  uint to;
  bool is_fast;

  INLINED StagedLines(Source source, uint first, uint thread_index)
      : source(source),
        within(thread_index % kPieces * 8),
        to(thread_index / kPieces * Depth + within),
        is_fast(is_whole(source, first, uint(Lines), uint(Depth), 0)) {
    UNROLLED
    for (uint i = 0; i < kTurns; ++i) {
      lines[i] = source.line(first + (thread_index + i * Threads) / kPieces);
    }
  }

  INLINED void fill(threadgroup T* memory, uint k) const {
    UNROLLED
    for (uint i = 0; i < kTurns; ++i) {
      Quad<T> quads[2];
      if (is_fast) {
        take_adjacent<2>(source, quads, lines[i], k, within, 0);
      } else {
        quads[0] = source.quad(lines[i], k + within);
        quads[1] = source.quad(lines[i], k + within + 4);
      }
      threadgroup Quad<T>* place =
          (threadgroup Quad<T>*)(memory + to + i * (Threads / kPieces * Depth));
      place[0] = quads[0];
      place[1] = quads[1];
    }
  }
};

// The operand that is staged: patches are the left one, quantised weights the right one, whose rows
// are the columns of B.
template <int TileM, int TileN, int TileK, int Simds, bool IsLeft>
struct StagedTile {
  static constexpr constant matmul2d_descriptor kShape = matmul2d_descriptor(
      TileM, TileN, TileK, false, true, false, matmul2d_descriptor::mode::multiply_accumulate);
  static constexpr constant int kLines = IsLeft ? TileM : TileN;
  // Elements of threadgroup memory.
  static constexpr constant int kMemory = 2 * kLines * TileK;

  // Write the elements of tile (x, y) of C. `other` is the operand in device memory.
  template <typename Source, typename L, typename T, typename Epilogue = SumAsItIs>
  static void multiply(Source source, MatrixTensor<L> other, uint depth, MatrixTensor<T> c,
                       uint2 tile, threadgroup typename Source::element* memory, uint thread_index,
                       Epilogue epilogue = Epilogue()) {
    using E = typename Source::element;
    using Tile = tensor<threadgroup E, extents<int32_t, TileK, kLines>, tensor_inline>;
    matmul2d<kShape, execution_simdgroups<Simds>> product;
    const int row = int(tile.y) * TileM, column = int(tile.x) * TileN;
    const StagedLines<Source, kLines, TileK, 32 * Simds> staged(source, uint(IsLeft ? row : column),
                                                                thread_index);
    using Other = decltype(other.slice(0, 0));
    using Left = conditional_t<IsLeft, Tile, Other>;
    using Right = conditional_t<IsLeft, Other, Tile>;
    auto sums = product.template get_destination_cooperative_tensor<Left, Right, float>();
#pragma clang loop unroll(full)
    for (ushort i = 0; i < sums.get_capacity(); ++i) {
      sums[i] = 0;
    }
    for (uint k = 0; k < depth; k += TileK) {
      threadgroup E* current = memory + (k / TileK % 2) * (kLines * TileK);
      staged.fill(current, k);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      Tile made(current, extents<int32_t, TileK, kLines>());
      auto part = other.slice(int(k), IsLeft ? column : row);
      if constexpr (IsLeft) {
        product.run(made, part, sums);
      } else {
        product.run(part, made, sums);
      }
    }
    auto results = product.template get_destination_cooperative_tensor<Left, Right, T>();
    store_sums(sums, results, c, row, column, epilogue);
  }
};

}  // namespace metalbench
