// Cross entropy of logits hidden W^T of a large vocabulary, whose logits are never all in memory.
// W is (vocabulary, dims), a row for each class.
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/inlined.h"
#include "metalbench/row_shares.h"
#include "metalbench/tiles.h"

namespace metalbench {

using namespace metal;

// The epilogue of the loss: shares of each row's sum of exponentials, and the logit of its class.
template <uint TileN>
struct StoreLogitShares {
  StoreRowShares<RowExpSum, TileN> shares;
  device const uint* target;
  device float* chosen;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    shares(row, column, sums);
    if (row < shares.rows) {
      const uint within = target[row] - column;
      if (within < 4) {
        chosen[row] = ((threadgroup const float*)sums)[within];
      }
    }
  }
};

// What the gradient of a logit needs of its row.
template <typename T>
struct RowLosses {
  device const uint* target;
  device const float* lse;
  device const T* dloss;

  float gradient(float logit, uint row, uint column) const {
    const float share = precise::exp(logit - lse[row]) - (column == target[row] ? 1.0f : 0.0f);
    return share * float(dloss[row]);
  }
};

// The epilogue of a chunk of logits: their gradients, zeros past the ends, for the product that
// follows. Rows of the product are owned: rows of hidden states if OfHidden, else classes.
template <typename T, bool OfHidden, uint Chunk>
struct StoreLogitGradients {
  device T* to;
  uint first_row;
  uint first_column;
  uint rows;
  uint cols;
  RowLosses<T> losses;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    float4 v = 0.0f;
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      if (row < rows && column + i < cols) {
        v[i] = OfHidden ? losses.gradient((*sums)[i], row, column + i)
                        : losses.gradient((*sums)[i], column + i, row);
      }
    }
    put_quad(to + ulong(row - first_row) * Chunk + (column - first_column), 0, v);
  }
};

// The epilogue of the sums over chunks: the first chunk begins them, the last one stores them.
template <typename T>
struct AddToSums {
  device float* sums;
  device T* to;
  uint first_row;
  uint rows;
  uint cols;
  bool is_first;
  bool is_last;

  void operator()(uint row, uint column, threadgroup const float4* more) const {
    if (row >= rows || column >= cols) {
      return;
    }
    device float* own = sums + ulong(row - first_row) * cols;
    const float4 sum = is_first ? *more : *more + load_quad(own, column, cols);
    if (is_last) {
      store_quad(to + ulong(row) * cols, column, cols, sum);
    } else {
      store_quad(own, column, cols, sum);
    }
  }
};

// Gradient of `owned` (rows, dims) with `passing` (cols, dims), which passes in chunks of Chunk
// rows: for each chunk, the logits of a block of TileM owned rows are multiplied and their
// gradients stored in a part of `chunk` that belongs to the threadgroup; then these times the
// passing rows are added to the block's sums. Threadgroups take every `groups`-th block.
template <typename T, bool OfHidden, uint TileM, uint TileN, uint Chunk>
struct LinearGradient {
  static constant constexpr uint kDepth = 16;
  static_assert(Chunk % TileN == 0 && TileN % kDepth == 0, "chunks are whole tiles");
  using Logits = Product<MatrixRows<T>, MatrixRows<T>, TileM, TileN, kDepth>;
  using Sums = Product<MatrixRows<T>, MatrixColumns<T>, TileM, TileN, kDepth>;
  static constant constexpr uint kMemory =
      Logits::kMemory > Sums::kMemory ? Logits::kMemory : Sums::kMemory;

  device const T* owned;
  device const T* passing;
  uint dims;
  uint rows;
  uint cols;
  RowLosses<T> losses;
  device T* chunk;
  device float* sums;
  uint group;

  INLINED void store(device T* to, uint groups, threadgroup float4* memory, Place place) const {
    device T* own_chunk = chunk + ulong(group) * TileM * Chunk;
    device float* own_sums = sums + ulong(group) * TileM * dims;
    for (uint first = group * TileM; first < rows; first += groups * TileM) {
      for (uint begin = 0; begin < cols; begin += Chunk) {
        const uint count = min(Chunk, cols - begin);
        for (uint column = begin; column < begin + count; column += TileN) {
          Logits product(uint2(column, first), memory, place);
          product.multiply({owned, rows, dims}, {passing, cols, dims}, dims);
          product.store(
              StoreLogitGradients<T, OfHidden, Chunk>{own_chunk, first, begin, rows, cols, losses});
          threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        }
        for (uint column = 0; column < dims; column += TileN) {
          Sums product(uint2(column, 0), memory, place);
          product.multiply({own_chunk, TileM, Chunk},
                           {passing + ulong(begin) * dims, count, dims, dims}, count);
          product.corner.y = first;
          product.store(
              AddToSums<T>{own_sums, to, first, rows, dims, begin == 0, begin + count == cols});
          threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
        }
      }
    }
  }
};

}  // namespace metalbench
