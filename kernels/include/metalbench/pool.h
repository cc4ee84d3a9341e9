// Pooling, channels last: a thread computes four channels of one output pixel. Neighbouring threads
// read neighbouring channels, so every load is part of a whole cache line; where windows overlap,
// the rest of it is in the cache. What is left at an end, too little for a window, belongs to none.
// One and two dimensions have a depth and a height of 1. `pool` has windows of one stride and no
// padding, `pool_windows` any of windows.h. Needs `threads_in_grid=(ceil_div(channels,
// 4), width of the output, batch * depth * height of the output)`.
#pragma once
#include "metalbench/joins.h"
#include "metalbench/quads.h"
#include "metalbench/windows.h"

namespace metalbench {

// Extents without batch and channels.
struct Extent {
  uint depth;
  uint height;
  uint width;
};

// Joins `result` and the Width pixels from column `at` of a line.
template <uint Width, bool Whole, typename Op, typename T>
INLINED inline float4 join_line(Op op, float4 result, device const T* x, uint index, uint at,
                                Extent from, uint channels, uint channel) {
  device const T* line = x + ulong(index) * (from.width * channels);
  UNROLLED_ON_GPU
  for (uint w = 0; w < Width; ++w) {
    device const T* pixel = line + (at + w) * channels;
    result =
        op.join(result, Whole ? quad_at(pixel + channel, 0) : load_quad(pixel, channel, channels));
  }
  return result;
}

// Four channels of the window of Depth x Height x Width pixels whose first one is `at` (its z
// counts slices of all images). Whole: the channels are a multiple of four.
template <uint Depth, uint Height, uint Width, bool Whole, typename Op, typename T>
inline float4 window(Op op, device const T* x, Extent from, uint channels, uint channel, uint3 at) {
  device const T* plane = x + ulong(at.z * from.height + at.y) * (from.width * channels);
  float4 result = op.first();
  ROLLED
  for (uint d = 0; d < Depth; ++d) {
    const uint first = d * from.height;
    // All loads of a slice of up to nine pixels are on their way together, or all of a line.
    if (Height * Width <= 9) {
      UNROLLED_ON_GPU
      for (uint h = 0; h < Height; ++h) {
        result =
            join_line<Width, Whole>(op, result, plane, first + h, at.x, from, channels, channel);
      }
    } else {
      ROLLED
      for (uint h = 0; h < Height; ++h) {
        result =
            join_line<Width, Whole>(op, result, plane, first + h, at.x, from, channels, channel);
      }
    }
  }
  return op.finish(result, Depth * Height * Width);
}

// Windows are Stride apart.
template <uint Depth, uint Height, uint Width, uint Stride, typename Op, typename T>
inline void pool(Op op, device const T* x, device T* y, Extent from, uint channels, uint3 place) {
  const Extent to = {(from.depth - Depth) / Stride + 1, (from.height - Height) / Stride + 1,
                     (from.width - Width) / Stride + 1};
  const uint row = place.z % to.height;
  const uint slice = place.z / to.height % to.depth;
  const uint image = place.z / to.height / to.depth;
  const uint3 corner = uint3(place.y * Stride, row * Stride, image * from.depth + slice * Stride);
  const uint channel = 4 * place.x;
  device T* pixel = y + ulong(place.z * to.width + place.y) * channels;
  // Asked once, and not at every load: what is left is a loop without branches.
  if (channels % 4 == 0) {
    put_quad(pixel + channel, 0,
             window<Depth, Height, Width, true>(op, x, from, channels, channel, corner));
  } else {
    store_quad(pixel, channel, channels,
               window<Depth, Height, Width, false>(op, x, from, channels, channel, corner));
  }
}

// Taps of one direction that are inside of n, for the window that begins at `first`: from .x to .y.
template <typename A>
inline uint2 taps_inside(int first, uint n) {
  const int step = int(A::kDilation);
  const int below = max(0, (step - 1 - first) / step);
  const int end = max(0, (int(n) - first + step - 1) / step);
  return uint2(uint(first < 0 ? below : 0), uint(min(int(A::kTaps), end)));
}

// Windows of Z, Y and X (windows.h). What lies outside counts for nothing in a maximum, and as zero
// in a mean.
template <typename Z, typename Y, typename X, typename Op, typename T>
inline void pool_windows(Op op, device const T* x, device T* y, Extent from, uint channels,
                         uint3 place) {
  using Steps = Forward<Z, Y, X>;
  const uint3 to = Steps().whole(uint3(from.width, from.height, from.depth));
  const uint3 at = uint3(place.y, place.z % to.y, place.z / to.y % to.z);
  const uint image = place.z / to.y / to.z;
  const int3 first = Steps().first(at);
  const uint2 deep = taps_inside<Z>(first.z, from.depth);
  const uint2 high = taps_inside<Y>(first.y, from.height);
  const uint channel = 4 * place.x;
  float4 result = op.first();
  for (uint d = deep.x; d < deep.y; ++d) {
    const uint slice = image * from.depth + uint(first.z + int(d * Z::kDilation));
    for (uint h = high.x; h < high.y; ++h) {
      const uint line = slice * from.height + uint(first.y + int(h * Y::kDilation));
      device const T* pixels = x + ulong(line) * (from.width * channels);
      // As often for all threads, so that the loop can be unrolled.
      for (uint w = 0; w < X::kTaps; ++w) {
        const uint at_x = uint(first.x + int(w * X::kDilation));
        if (X::kPadding == 0 || at_x < from.width) {
          result = op.join(result, load_quad(pixels + at_x * channels, channel, channels));
        }
      }
    }
  }
  result = op.finish(result, X::kTaps * Y::kTaps * Z::kTaps);
  store_quad(y + ulong(place.z * to.x + place.y) * channels, channel, channels, result);
}

}  // namespace metalbench
