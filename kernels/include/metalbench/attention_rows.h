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

// Rows of a matrix that pass through a tile of threadgroup memory, Rows at a time, one block after
// the other; zeros past the end of the matrix and past its `cols`, up to whole steps of columns.
// Rows of the tile are Pitch elements apart. A thread loads 16 bytes at once, from places at
// constant distances: in a block without an edge it computes one address. Ahead, a thread asks for
// its part of the next block while this one is worked on, and keeps it in registers. Rows that are
// whole loads must begin where vectors may be loaded; others are loaded by the element, and never
// ahead.
template <typename T, uint Rows, uint MaxCols, uint Pitch, uint Threads, bool Ahead = false>
struct PassingRows {
  static constant constexpr uint kLoadQuads = 4 / sizeof(T);
  static constant constexpr uint kLoad = 4 * kLoadQuads;
  // Neighbouring threads in a row: 32 columns of it, more where there are too few rows.
  static constant constexpr uint kAcross =
      32 / kLoad > Threads / Rows ? 32 / kLoad : Threads / Rows;
  static constant constexpr uint kStep = kAcross * kLoad;
  static constant constexpr uint kDown = Threads / kAcross;
  static constant constexpr uint kSteps = MaxCols / kStep;
  static constant constexpr uint kThreadLoads = Rows / kDown * kSteps;
  static_assert(Rows % kDown == 0 && MaxCols % kStep == 0, "threads have equal shares");
  using Load = AdjacentQuads<T, kLoadQuads>;

  Head<const T> from;
  uint cols;
  uint first;
  uint row;
  uint column;
  device const T* own;
  // Whether rows are whole steps of columns, and whether they are whole loads.
  bool is_whole;
  bool is_aligned;
  Load fetched[Ahead ? kThreadLoads : 1];

  INLINED PassingRows(Head<const T> from, uint first, uint cols, uint thread_index)
      : from(from),
        cols(cols),
        first(first),
        row(thread_index / kAcross),
        column(thread_index % kAcross * kLoad),
        own(from.data + ulong(first + row) * from.pitch + column),
        is_whole(cols % kStep == 0 && from.pitch % kLoad == 0),
        is_aligned(cols % kLoad == 0 && from.pitch % kLoad == 0) {}

  // Asks for the next block, of rows that are wider than MaxCols for the columns from `begin` on.
  // Behind the last of them the next rows follow.
  INLINED void expect(uint begin = 0, bool is_last = true) {
    if (!is_ahead()) {
      return;
    }
    UNROLLED
    for (uint i = 0; i < kThreadLoads; ++i) {
      fetched[i] = load_at(i / kSteps * kDown, begin + i % kSteps * kStep);
    }
    advance(is_last);
  }

  // The next block.
  INLINED void put(threadgroup T* tile, uint begin = 0, bool is_last = true) {
    threadgroup T* to = tile + row * Pitch + column;
    if (is_ahead()) {
      UNROLLED
      for (uint i = 0; i < kThreadLoads; ++i) {
        *(threadgroup Load*)(to + i / kSteps * kDown * Pitch + i % kSteps * kStep) = fetched[i];
      }
      return;
    }
    if (is_whole && first + Rows <= from.rows) {
      UNROLLED
      for (uint j = 0; j < MaxCols; j += kStep) {
        if (begin + j < cols) {
          UNROLLED
          for (uint i = 0; i < Rows; i += kDown) {
            *(threadgroup Load*)(to + i * Pitch + j) =
                *(device const Load*)(own + i * from.pitch + (begin + j));
          }
        }
      }
    } else {
      ROLLED
      for (uint j = 0; j < min(cols - begin, MaxCols); j += kStep) {
        ROLLED
        for (uint i = 0; i < Rows; i += kDown) {
          put_edge(to + i * Pitch + j, i, begin + j);
        }
      }
    }
    advance(is_last);
  }

  INLINED bool is_ahead() const { return Ahead && is_aligned; }

  INLINED void advance(bool is_last) {
    if (is_last) {
      first += Rows;
      own += Rows * from.pitch;
    }
  }

  // What is `down` rows and `across` columns from the thread's first load of the block.
  INLINED Load load_at(uint down, uint across) const {
    if (first + row + down < from.rows && column + across < cols) {
      return *(device const Load*)(own + down * from.pitch + across);
    }
    Load none;
    UNROLLED
    for (uint i = 0; i < kLoadQuads; ++i) {
      none.quads[i] = T(0);
    }
    return none;
  }

  INLINED void put_edge(threadgroup T* to, uint down, uint across) const {
    if (is_aligned) {
      *(threadgroup Load*)to = load_at(down, across);
      return;
    }
    const uint end = first + row + down < from.rows ? cols : 0;
    for (uint i = 0; i < kLoad; ++i) {
      to[i] = column + across + i < end ? own[down * from.pitch + across + i] : T(0);
    }
  }
};

// The same of a source whose elements are not in memory as they are multiplied:
//   rows               how many there are
//   quad(row, column)  four of them, as Quad<T>; only asked for what is there
template <typename Source, typename T, uint Rows, uint MaxCols, uint Pitch, uint Threads>
struct PassingQuads {
  static constant constexpr uint kAcross = MaxCols / 4;
  static_assert(Rows * kAcross % Threads == 0, "threads have equal shares");

  Source from;
  uint cols;
  uint first;
  uint thread_index;

  INLINED PassingQuads(Source from, uint first, uint cols, uint thread_index)
      : from(from), cols(cols), first(first), thread_index(thread_index) {}

  // Nothing is asked for ahead.
  INLINED void expect(uint, bool) const {}

  INLINED void put(threadgroup T* tile, uint begin, bool is_last) {
    // What a source needs for a quad takes registers: one at a time.
    ROLLED
    for (uint i = thread_index; i < Rows * kAcross; i += Threads) {
      const uint row = i / kAcross, column = 4 * (i % kAcross);
      Quad<T> v = Quad<T>(0);
      if (first + row < from.rows && begin + column < cols) {
        v = from.quad(first + row, begin + column);
      }
      *(threadgroup Quad<T>*)(tile + row * Pitch + column) = v;
    }
    first += is_last ? Rows : 0;
  }
};

// Which of the two passes a source's rows.
template <typename Source, typename T, uint RowCount, uint MaxCols, uint Pitch, uint Threads,
          bool Ahead>
struct PassingOf {
  using Rows = PassingQuads<Source, T, RowCount, MaxCols, Pitch, Threads>;
};
template <typename T, uint RowCount, uint MaxCols, uint Pitch, uint Threads, bool Ahead>
struct PassingOf<Head<const T>, T, RowCount, MaxCols, Pitch, Threads, Ahead> {
  using Rows = PassingRows<T, RowCount, MaxCols, Pitch, Threads, Ahead>;
};

// Eight scores of the keys from `first` on: those from key `end` on become -inf.
inline void hide_behind(thread float4 (&scores)[2], uint first, uint end) {
  UNROLLED
  for (uint i = 0; i < 2; ++i) {
    scores[i] = select(float4(-INFINITY), scores[i], first + 4 * i + uint4(0, 1, 2, 3) < end);
  }
}

// The softmax so far of a row that four neighbouring lanes share, so that its maximum and its sum
// take two shuffles each: a level, and the sum of weights relative to it. The level follows the
// largest score once that is 2^8 times as heavy, which loses no digit of a float; so the output so
// far is seldom rescaled.
struct OnlineRow {
  float level;
  float sum;
  float exact;  // the sum of the lane's weights before they are rounded

  // Eight scores of each lane become weights, as elements of T; returns by what those of before
  // have shrunk. Sums are of the weights as they are rounded.
  template <typename T>
  float take(thread const float4 (&scores)[2], threadgroup Quad<T>* weights, float scale) {
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
    const float4 first = fast::exp2((scores[0] - base) * scale);
    const float4 second = fast::exp2((scores[1] - base) * scale);
    const Quad<T> a = Quad<T>(first);
    const Quad<T> b = Quad<T>(second);
    weights[0] = a;
    weights[1] = b;
    const float4 both = float4(a) + float4(b);
    float added = (both.x + both.y) + (both.z + both.w);
    added += simd_shuffle_xor(added, 1);
    added += simd_shuffle_xor(added, 2);
    const float shrink = old == level ? 1.0f : fast::exp2((old - base) * scale);
    sum = sum * shrink + added;
    exact = exact * shrink + total(first + second);
    return shrink;
  }

  // The logarithm of the sum of exponentials of scaled scores, by the row's four lanes together.
  float log_sum(float scale) const {
    float all = exact;
    all += simd_shuffle_xor(all, 1);
    all += simd_shuffle_xor(all, 2);
    return level * scale + precise::log(all);
  }
};

}  // namespace metalbench
