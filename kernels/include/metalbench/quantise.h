// Plain rows as whole numbers of few bits with a scale and a bias a group, as MLX chooses them. A
// lane has four neighbouring elements; those of a group lie side by side in a SIMD-group, all of
// whose lanes take part.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

struct Scaling {
  float scale;
  float bias;
};

// Zero is a code, and so is the end of larger magnitude, which has no error.
template <uint Bits>
inline Scaling scaling_of(float low, float high) {
  const float most = float((1 << Bits) - 1);
  const bool is_low = abs(low) > abs(high);
  const float step = max((high - low) / most, 1e-7f);
  const float scale = is_low ? step : -step;
  const float edge = is_low ? low : high;
  const float at_edge = rint(edge / scale);
  return at_edge != 0.0f ? Scaling{edge / at_edge, edge} : Scaling{scale, 0.0f};
}

// Of the group that a lane's four elements are in.
template <uint Group, uint Bits>
inline Scaling scaling_of_group(float4 v) {
  float low = min(min(v.x, v.y), min(v.z, v.w));
  float high = largest(v);
  UNROLLED
  for (uint lanes = 1; lanes < Group / 4; lanes *= 2) {
    low = min(low, simd_shuffle_xor(low, ushort(lanes)));
    high = max(high, simd_shuffle_xor(high, ushort(lanes)));
  }
  return scaling_of<Bits>(low, high);
}

// Four codes, the first in the lowest bits.
template <uint Bits>
inline uint codes_of(float4 v, Scaling by) {
  const float4 nearest = rint((v - by.bias) / by.scale);
  const uint4 codes = uint4(clamp(nearest, 0.0f, float((1 << Bits) - 1)));
  return codes.x | codes.y << Bits | codes.z << (2 * Bits) | codes.w << (3 * Bits);
}

// Rows of codes, and a scale and a bias for each group of them.
template <typename T>
struct QuantisedParts {
  device uint* words;
  device T* scales;
  device T* biases;
};

// New rows (tokens, heads, dims) into a cache of `length` rows for each head, at their positions. A
// thread has four elements of them; threads past the last repeat its work up to the stores, as the
// shuffles of others want a whole SIMD-group.
template <uint Bits, uint Group, typename T>
inline void append_rows(QuantisedParts<T> cache, device const T* fresh, device const uint* position,
                        uint heads, uint length, uint tokens, uint dims, uint thread_index) {
  const uint quads = tokens * heads * dims / 4;
  const uint quad = min(thread_index, quads - 1);
  const float4 v = quad_at(fresh, quad);
  const Scaling by = scaling_of_group<Group, Bits>(v);
  const uint bits = codes_of<Bits>(v, by);
  const uint other = simd_shuffle_xor(bits, ushort(1));
  if (thread_index >= quads) {
    return;
  }
  const uint row = quad / (dims / 4), column = quad % (dims / 4);
  const ulong to = ulong(row % heads) * length + position[row / heads];
  const ulong at = to * (dims / 4) + column;  // in quads of the cache
  if (Bits == 8) {
    cache.words[at] = bits;
  } else if (column % 2 == 0) {
    cache.words[at / 2] = bits | other << 16;
  }
  if (column % (Group / 4) == 0) {
    cache.scales[at / (Group / 4)] = T(by.scale);
    cache.biases[at / (Group / 4)] = T(by.bias);
  }
}

}  // namespace metalbench
