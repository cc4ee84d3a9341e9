// Heads, which keys their queries see, and the softmax of a row of scores as they come
// (attention.h).
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

// One head: its first element, how many rows it has, and the distance of two rows in elements.
template <typename T>
struct Head {
  device T* data;
  uint rows;
  uint pitch;
};

// Which keys a query sees, a Sight:
//   first(query)                where it begins, no later than for any query behind
//   end(query, keys)            where it ends, no earlier than for any query before
//   scores(raw, query, key)     four scores, before scaling: -inf where a key is out of sight
// Here all keys; or with Causal those up to the query itself, which is number `earlier` among them
// if it is the first.
template <bool Causal>
struct Seen {
  uint earlier = 0;
  uint first(uint) const { return 0; }
  uint end(uint query, uint keys) const { return Causal ? min(keys, query + earlier + 1) : keys; }
  float4 scores(float4 raw, uint, uint) const { return raw; }
};

// A thread's walk over the quads of rows that are `quads` wide, Threads apart; `index` counts the
// quads of all rows. The division is outside of the loop.
template <uint Threads>
struct QuadWalk {
  uint quads;
  uint index;
  uint row;
  uint column;
  uint rows_on;
  uint columns_on;

  INLINED QuadWalk(uint quads, uint thread_index)
      : quads(quads),
        index(thread_index),
        row(thread_index / quads),
        column(thread_index % quads),
        rows_on(Threads / quads),
        columns_on(Threads % quads) {}

  INLINED void advance() {
    index += Threads;
    row += rows_on;
    column += columns_on;
    const bool carries = column >= quads;
    row += carries;
    column -= carries ? quads : 0;
  }
};

// The walk over rows of `cols` columns and zeros up to a multiple of 32 of them.
template <uint Threads>
INLINED QuadWalk<Threads> tile_walk(uint cols, uint thread_index) {
  return QuadWalk<Threads>((cols + 31) / 32 * 8, thread_index);
}

// Rows first.. of a matrix, into a tile whose rows are Pitch quads apart; zeros past its end and
// past its `cols`, as far as the walk `at` goes, which begins at the thread's first quad.
template <uint Rows, uint Pitch, uint Threads, typename T>
inline void fill_rows(threadgroup Quad<T>* tile, Head<const T> from, uint first, uint cols,
                      QuadWalk<Threads> at) {
  device const T* rows = from.data + ulong(first) * from.pitch;
  for (; at.index < Rows * at.quads; at.advance()) {
    Quad<T> v = T(0);
    if (first + at.row < from.rows) {
      v = Quad<T>(load_quad(rows + at.row * from.pitch, 4 * at.column, cols));
    }
    tile[at.row * Pitch + at.column] = v;
  }
}

// Blocks of rows that pass through a tile one after the other. Ahead, a thread asks for its quads
// of the next block while this one is worked on, and keeps it in registers: then rows of whole
// quads must begin where vectors may be loaded.
template <typename T, uint Rows, uint RowQuads, uint Pitch, uint Threads, bool Ahead>
struct PassingRows {
  static constant constexpr uint kThreadQuads =
      Ahead ? (Rows * RowQuads + Threads - 1) / Threads : 1;
  Quad<T> fetched[kThreadQuads];

  INLINED void expect(Head<const T> from, uint first, uint cols, uint thread_index) {
    if (!Ahead) {
      return;
    }
    const bool whole = cols % 4 == 0 && from.pitch % 4 == 0;
    UNROLLED
    for (uint i = 0; i < kThreadQuads; ++i) {
      const uint index = thread_index + i * Threads;
      const uint row = first + index / RowQuads;
      const uint column = 4 * (index % RowQuads);
      fetched[i] = T(0);
      if (row < from.rows && column < cols) {
        device const T* data = from.data + ulong(row) * from.pitch;
        fetched[i] = Quad<T>(whole ? quad_at(data + column, 0) : load_quad(data, column, cols));
      }
    }
  }

  INLINED void put(threadgroup Quad<T>* tile, Head<const T> from, uint first, uint cols,
                   thread const QuadWalk<Threads>& walk, uint thread_index) const {
    if (!Ahead) {
      fill_rows<Rows, Pitch>(tile, from, first, cols, walk);
      return;
    }
    UNROLLED
    for (uint i = 0; i < kThreadQuads; ++i) {
      const uint index = thread_index + i * Threads;
      if (index < Rows * RowQuads) {
        tile[index / RowQuads * Pitch + index % RowQuads] = fetched[i];
      }
    }
  }
};

// Eight scores as a query sees them, of the keys from `first` on that end at `end`.
template <typename Sight>
inline void show(threadgroup float4* scores, thread const Sight& sight, uint query, uint first,
                 uint end) {
  UNROLLED
  for (uint i = 0; i < 2; ++i) {
    const uint4 key = first + 4 * i + uint4(0, 1, 2, 3);
    const float4 seen = sight.scores(scores[i], query, first + 4 * i);
    scores[i] = select(float4(-INFINITY), seen, key < end);
  }
}

// The softmax so far of a row that four neighbouring lanes share, so that its maximum and its sum
// take two shuffles each: a level, and the sum of weights relative to it. The level follows the
// largest score once that is 2^8 times as heavy, which loses no digit of a float; so the output so
// far is seldom rescaled.
struct OnlineRow {
  float level;
  float sum;

  // Eight scores of each lane become weights at the begin of their place, as elements of T;
  // returns by what those of before have shrunk. Sums are of the weights as they are rounded.
  template <typename T>
  float take(threadgroup float4* scores, float scale) {
    const float4 larger = max(scores[0], scores[1]);
    float higher = max(max(larger.x, larger.y), max(larger.z, larger.w));
    higher = max(higher, simd_shuffle_xor(higher, 1));
    higher = max(higher, simd_shuffle_xor(higher, 2));
    const float old = level;
    if (higher * scale > level * scale + 8.0f) {
      level = higher;
    }
    // Where no key was in sight yet, -inf - -inf would be NaN.
    const float base = level > -INFINITY ? level : 0.0f;
    // Scaling the difference keeps large scores from losing digits to one more rounding.
    const Quad<T> a = Quad<T>(fast::exp2((scores[0] - base) * scale));
    const Quad<T> b = Quad<T>(fast::exp2((scores[1] - base) * scale));
    ((threadgroup Quad<T>*)scores)[0] = a;
    ((threadgroup Quad<T>*)scores)[1] = b;
    const float4 both = float4(a) + float4(b);
    float added = (both.x + both.y) + (both.z + both.w);
    added += simd_shuffle_xor(added, 1);
    added += simd_shuffle_xor(added, 2);
    const float shrink = old == level ? 1.0f : fast::exp2((old - base) * scale);
    sum = sum * shrink + added;
    return shrink;
  }
};

}  // namespace metalbench
