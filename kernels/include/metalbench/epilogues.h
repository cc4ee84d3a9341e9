// What becomes of the sums of a matrix product before they leave the threadgroup (tiles.h calls it
// an epilogue). Most write one element of a row-major matrix for each sum, through a *map*: a
// function of four sums and of their row and first column. Maps are plain structs, so what they
// need is theirs, and a kernel may define another.
#pragma once
#include "metalbench/quads.h"
#include "metalbench/tile_layout.h"

namespace metalbench {

using namespace metal;

struct AsItIs {
  float4 operator()(float4 v, uint, uint) const { return v; }
};

// An activation of activations.h.
template <typename F>
struct Activated {
  F activation;
  float4 operator()(float4 v, uint, uint) const { return activation(v); }
};

// One number a column is added.
template <typename T>
struct Biased {
  device const T* bias;
  uint cols;
  float4 operator()(float4 v, uint, uint column) const { return v + load_quad(bias, column, cols); }
};

// One number a column is added, then comes F, a function of four sums.
template <typename T, typename F>
struct BiasedThen {
  Biased<T> bias;
  F then;
  float4 operator()(float4 v, uint row, uint column) const { return then(bias(v, row, column)); }
};

// What follows a norm: a weight and a bias for each channel, or, where PerPixel, for each element.
template <bool PerPixel>
struct Affine {
  device const float* weight;
  device const float* bias;
  uint channels;
  float4 operator()(float4 v, uint row, uint column) const {
    const ulong start = PerPixel ? ulong(row) * channels : 0;
    return fma(v, load_quad(weight + start, column, channels),
               load_quad(bias + start, column, channels));
  }
};

// A matrix of the same shape is added.
template <typename T>
struct Added {
  device const T* residual;
  uint cols;
  float4 operator()(float4 v, uint row, uint column) const {
    return v + load_quad(residual + ulong(row) * cols, column, cols);
  }
};

// One map after another, such as a bias and then a residual.
template <typename First, typename Second>
struct MapThen {
  First first;
  Second second;
  float4 operator()(float4 v, uint row, uint column) const {
    return second(first(v, row, column), row, column);
  }
};

// Writes map(sums) to a matrix of `rows` by `cols` elements.
template <typename T, typename Map = AsItIs>
struct Store {
  device T* to;
  uint rows;
  uint cols;
  Map map;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (row < rows && column < cols) {
      store_quad(to + ulong(row) * cols, column, cols, map(*sums, row, column));
    }
  }
};

// Writes map(sums) to `cols` columns of a wider matrix, whose rows are `pitch` elements apart.
template <typename T, typename Map = AsItIs>
struct StoreSlice {
  device T* to;
  uint rows;
  uint cols;
  uint pitch;
  Map map;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (row < rows && column < cols) {
      store_quad(to + ulong(row) * pitch, column, cols, map(*sums, row, column));
    }
  }
};

// Writes F()(maximum) of each four neighbouring rows, a 2 x 2 pooling window (Pool of
// convolution.h), for tiles of TileN columns: rows of the strip that `sums` points into are as far
// apart as the part of a SIMD-group is wide.
template <typename T, typename F, uint TileN>
struct StorePooled {
  device T* to;
  uint rows;
  uint cols;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (row % 4 == 0 && row < rows && column < cols) {
      constexpr uint pitch = TileN / (4 * kSimdCols);
      const float4 v = max(max(sums[0], sums[pitch]), max(sums[2 * pitch], sums[3 * pitch]));
      store_quad(to + ulong(row / 4) * cols, column, cols, F()(v));
    }
  }
};

// The epilogue of PairedColumns: writes F()(first) * second.
template <typename T, typename F>
struct StoreGated {
  device T* to;
  uint rows;
  uint cols;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    if (column % 8 == 0 && row < rows && column / 2 < cols) {
      store_quad(to + ulong(row) * cols, column / 2, cols, F()(sums[0]) * sums[1]);
    }
  }
};

}  // namespace metalbench
