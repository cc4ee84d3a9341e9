// Rotary position embedding as language models have it today: columns i and i + half of a head are
// a point, turned by position * frequency(i). A thread has four neighbouring points of one token,
// in Heads heads: sines and cosines are computed once for all of these, and columns are moved by
// vectors. Frequencies are computed to about one rounding, because a position multiplies their
// error, and what their product with it loses is added back (rope.h). A `Frequencies` gives that of
// pair i. Needs
//   threads_in_grid=(ceil_div(half, 4), tokens, ceil_div(heads, Heads))
#pragma once
#include "metalbench/quads.h"
#include "metalbench/rope.h"

namespace metalbench {

// base^(-2i / dims)
struct PlainFrequencies {
  uint dims;
  float base;
  float operator()(uint i) const { return rope_frequency(2 * i, dims, base); }
};

// Sines and cosines of four angles.
struct Turn {
  float4 sine;
  float4 cosine;

  template <typename Frequencies>
  static Turn of(Frequencies frequencies, uint first, uint position) {
    const float4 frequency = float4(frequencies(first), frequencies(first + 1),
                                    frequencies(first + 2), frequencies(first + 3));
    const float4 angle = float(position) * frequency;
    const float4 error = fma(float4(float(position)), frequency, -angle);
    const float4 s = precise::sin(angle);
    const float4 c = precise::cos(angle);
    return {fma(error, c, s), fma(-error, s, c)};
  }

  Turn scaled(float by) const { return {sine * by, cosine * by}; }

  // Turns columns `first` to first + 3 of one half against those of the other.
  template <typename T>
  void operator()(device const T* x, device T* y, uint first, uint half_dims) const {
    turned(load_quad(x, first, half_dims), load_quad(x + half_dims, first, half_dims), y, first,
           half_dims);
  }

  template <typename T>
  void turned(float4 a, float4 b, device T* y, uint first, uint half_dims) const {
    store_quad(y, first, half_dims, a * cosine - b * sine);
    store_quad(y + half_dims, first, half_dims, a * sine + b * cosine);
  }
};

// Where the heads of one token lie: the first, and how far one is from the next.
struct HeadRows {
  ulong first;
  ulong step;
  uint heads;
};

// (heads, tokens, dims), as attention takes them.
inline HeadRows heads_outside(uint token, uint tokens, uint heads, uint dims) {
  return {ulong(token) * dims, ulong(tokens) * dims, heads};
}

// (tokens, heads, dims), as a projection gives them.
inline HeadRows heads_inside(uint token, uint heads, uint dims) {
  return {ulong(token) * heads * dims, dims, heads};
}

// The heads that thread `place.z` has.
template <uint Heads, typename T>
inline void turn_heads(Turn turn, device const T* x, device T* y, HeadRows rows, uint half_dims,
                       uint3 place) {
  const uint begin = place.z * Heads, end = min(rows.heads, begin + Heads);
  x += rows.first + begin * rows.step;
  y += rows.first + begin * rows.step;
  for (uint head = begin; head < end; ++head, x += rows.step, y += rows.step) {
    turn(x, y, 4 * place.x, half_dims);
  }
}

}  // namespace metalbench
