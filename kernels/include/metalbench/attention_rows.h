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

// Rows first.. of a matrix, into a tile whose rows are Pitch quads apart; zeros past its end and
// past its `cols`, up to a multiple of 32 columns.
template <uint Rows, uint Pitch, uint Threads, typename T>
inline void fill_rows(threadgroup float4* tile, Head<const T> from, uint first, uint cols,
                      uint thread_index) {
  const uint quads = (cols + 31) / 32 * 8;
  for (uint index = thread_index; index < Rows * quads; index += Threads) {
    const uint row = index / quads;
    const uint column = index % quads;
    float4 v = float4(0.0f);
    if (first + row < from.rows) {
      device const T* data = from.data + ulong(first + row) * from.pitch;
      v = load_quad(data, 4 * column, cols);
    }
    tile[row * Pitch + column] = v;
  }
}

// Blocks of rows that pass through a tile one after the other. Ahead, a thread asks for its share
// of the next block while this one is worked on, and keeps it in registers: then rows of whole
// quads must begin where vectors may be loaded.
template <uint Rows, uint RowQuads, uint Pitch, uint Threads, bool Ahead>
struct PassingRows {
  static constant constexpr uint kShare = Ahead ? (Rows * RowQuads + Threads - 1) / Threads : 1;
  float4 share[kShare];

  template <typename T>
  INLINED void expect(Head<const T> from, uint first, uint cols, uint thread_index) {
    if (!Ahead) {
      return;
    }
    const bool whole = cols % 4 == 0 && from.pitch % 4 == 0;
    UNROLLED
    for (uint i = 0; i < kShare; ++i) {
      const uint index = thread_index + i * Threads;
      const uint row = first + index / RowQuads;
      const uint column = 4 * (index % RowQuads);
      share[i] = float4(0.0f);
      if (row < from.rows && column < cols) {
        device const T* data = from.data + ulong(row) * from.pitch;
        share[i] = whole ? quad_at(data + column, 0) : load_quad(data, column, cols);
      }
    }
  }

  template <typename T>
  INLINED void put(threadgroup float4* tile, Head<const T> from, uint first, uint cols,
                   uint thread_index) const {
    if (!Ahead) {
      fill_rows<Rows, Pitch, Threads>(tile, from, first, cols, thread_index);
      return;
    }
    UNROLLED
    for (uint i = 0; i < kShare; ++i) {
      const uint index = thread_index + i * Threads;
      if (index < Rows * RowQuads) {
        tile[index / RowQuads * Pitch + index % RowQuads] = share[i];
      }
    }
  }
};

// The other way: a SIMD-group's eight rows of such a tile from `row` on, the tile's first row being
// number `first` of the matrix.
template <uint Pitch, typename Out>
inline void store_rows(Head<Out> to, threadgroup const float4* tile, uint row, uint first,
                       uint cols, uint lane) {
  const uint quads = (cols + 3) / 4;
  for (uint index = lane; index < 8 * quads; index += 32) {
    const uint at = row + index / quads;
    const uint column = index % quads;
    if (first + at < to.rows) {
      store_quad(to.data + ulong(first + at) * to.pitch, 4 * column, cols,
                 tile[at * Pitch + column]);
    }
  }
}

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

  // Eight scores of each lane become weights; returns by what those of before have shrunk.
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
    const float4 a = exp2((scores[0] - base) * scale);
    const float4 b = exp2((scores[1] - base) * scale);
    scores[0] = a;
    scores[1] = b;
    const float4 both = a + b;
    float added = (both.x + both.y) + (both.z + both.w);
    added += simd_shuffle_xor(added, 1);
    added += simd_shuffle_xor(added, 2);
    const float shrink = old == level ? 1.0f : exp2((old - base) * scale);
    sum = sum * shrink + added;
    return shrink;
  }
};

}  // namespace metalbench
