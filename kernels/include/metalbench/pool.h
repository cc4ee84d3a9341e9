// Pooling, channels last: a thread computes four channels of one output pixel. Neighbouring threads
// read neighbouring channels, so every load is part of a whole cache line; where windows overlap,
// the rest of it is in the cache. What is left at an end, too little for a window, belongs to none.
// One and two dimensions have a depth and a height of 1. Needs `threads_in_grid=(ceil_div(channels,
// 4), width of the output, batch * depth * height of the output)`.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

struct Max {
  float4 first() const { return float4(-INFINITY); }
  float4 join(float4 a, float4 b) const { return max(a, b); }
  float4 finish(float4 v, uint) const { return v; }
};

struct Mean {
  float4 first() const { return float4(0.0f); }
  float4 join(float4 a, float4 b) const { return a + b; }
  float4 finish(float4 v, uint count) const { return v / float(count); }
};

// Extents without batch and channels.
struct Extent {
  uint depth;
  uint height;
  uint width;
};

// Four channels of the window of Depth x Height x Width pixels whose first one is `at` (its z counts
// slices of all images). Whole: the channels are a multiple of four.
template <uint Depth, uint Height, uint Width, bool Whole, typename Op, typename T>
inline float4 window(Op op, device const T* x, Extent from, uint channels, uint channel, uint3 at) {
  float4 result = op.first();
  for (uint d = 0; d < Depth; ++d) {
    for (uint h = 0; h < Height; ++h) {
      device const T* line =
          x + ((ulong(at.z) + d) * from.height + at.y + h) * from.width * channels;
      for (uint w = 0; w < Width; ++w) {
        device const T* pixel = line + (at.x + w) * channels;
        result = op.join(result,
                         Whole ? quad_at(pixel + channel, 0) : load_quad(pixel, channel, channels));
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
  device T* pixel = y + (ulong(place.z) * to.width + place.y) * channels;
  // Asked once, and not at every load: what is left is a loop without branches.
  if (channels % 4 == 0) {
    put_quad(pixel + channel, 0,
             window<Depth, Height, Width, true>(op, x, from, channels, channel, corner));
  } else {
    store_quad(pixel, channel, channels,
               window<Depth, Height, Width, false>(op, x, from, channels, channel, corner));
  }
}

}  // namespace metalbench
