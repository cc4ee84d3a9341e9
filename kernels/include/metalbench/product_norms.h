// Norms of the rows of A as part of the product that they go into, instead of a separate pass.
// The root mean square is a factor of a whole row, so it waits until the sums are stored:
// SquaredRows adds up the squares of what it fetches anyway. A mean has to go before anything is
// multiplied, or a row far from zero would lose its digits: `take_moments` reads the tile's rows
// first, NormalizedRows applies mean and scale on the way in.
#pragma once
#include "metalbench/tiles.h"

namespace metalbench {

using namespace metal;

// MatrixRows that also adds up squares.
template <typename T, typename As = T>
struct SquaredRows {
  using element = As;
  struct Line {
    device const T* from;
    float squares;
  };
  static constant constexpr bool kAlongDepth = true;
  device const T* data;
  uint rows;
  uint depth;

  Line line(uint row) const { return {row < rows ? data + ulong(row) * depth : nullptr, 0.0f}; }

  Quad<As> quad(thread Line& row, uint k) const {
    if (!row.from) {
      return As(0);
    }
    const float4 v = load_quad(row.from, k, depth);
    row.squares += dot(v, v);
    return Quad<As>(v);
  }
};

// After the product: 1 / sqrt(mean of squares + eps) of each row of the tile. Neighbouring lanes
// have fetched one row.
template <typename Left>
void inverse_rms(thread const Left& left, threadgroup float* scales, uint depth, float eps,
                 uint thread_index) {
  UNROLLED
  for (uint i = 0; i < Left::kThreadQuads; ++i) {
    const uint index = thread_index + i * kTileThreads;
    float sum = left.lines[i].squares;
    UNROLLED
    for (uint step = 1; step < Left::kRowQuads; step *= 2) {
      sum += simd_shuffle_xor(sum, ushort(step));
    }
    if (index % Left::kRowQuads == 0 && index < Left::kQuads) {
      scales[index / Left::kRowQuads] = precise::rsqrt(sum / float(depth) + eps);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// A map (epilogues.h): rows times their factor, then another map. `first` is the tile's first row.
template <typename Map>
struct RowScaled {
  threadgroup const float* scales;
  uint first;
  Map map;
  float4 operator()(float4 v, uint row, uint column) const {
    return map(v * scales[row - first], row, column);
  }
};

// Mean and 1 / standard deviation of the `count` rows from `first` on; zeros past the last row.
template <typename T>
void take_moments(threadgroup float2* moments, device const T* data, uint first, uint count,
                  uint2 shape, float eps, Place place) {
  for (uint i = place.simdgroup; i < count; i += kTileThreads / 32) {
    float2 result = float2(0.0f);
    if (first + i < shape.y) {
      device const T* row = data + ulong(first + i) * shape.x;
      float sum = 0.0f;
      for (uint c = place.lane; c < shape.x; c += 32) {
        sum += float(row[c]);
      }
      result.x = simd_sum(sum) / float(shape.x);
      float squares = 0.0f;
      for (uint c = place.lane; c < shape.x; c += 32) {
        const float d = float(row[c]) - result.x;
        squares += d * d;
      }
      result.y = precise::rsqrt(simd_sum(squares) / float(shape.x) + eps);
    }
    if (place.lane == 0) {
      moments[i] = result;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// MatrixRows, standardised with the moments of the tile whose first row is `first`. A normalised
// zero past the end of a row is not zero, but meets a zero of B.
template <typename T>
struct NormalizedRows {
  using element = float;
  struct Line {
    device const T* from;
    float mean;
    float scale;
  };
  static constant constexpr bool kAlongDepth = true;
  device const T* data;
  uint rows;
  uint depth;
  threadgroup const float2* moments;
  uint first;
  uint count;

  Line line(uint row) const {
    if (row >= rows || row - first >= count) {
      return {nullptr, 0.0f, 0.0f};
    }
    const float2 moment = moments[row - first];
    return {data + ulong(row) * depth, moment.x, moment.y};
  }

  float4 quad(thread const Line& row, uint k) const {
    if (!row.from) {
      return float4(0.0f);
    }
    return (load_quad(row.from, k, depth) - row.mean) * row.scale;
  }
};

}  // namespace metalbench
