// Prefix sums and products of rows, one threadgroup a row, in blocks of a few quads a thread. A
// block is scanned in three levels: the quads of a thread, 32 lanes by a SIMD-group prefix
// function, and the few totals of SIMD-groups, which every thread joins itself. The carry into the
// next block needs no communication, and two sets of totals in turn make one barrier a block
// enough.
#pragma once
#include "metalbench/reduce.h"
#include "metalbench/rows.h"

namespace metalbench {

struct Sums {
  float neutral() const { return 0.0f; }
  template <typename T>
  T join(T a, T b) const {
    return a + b;
  }
  float of_lanes_before(float value) const { return simd_prefix_exclusive_sum(value); }
};

struct Products {
  float neutral() const { return 1.0f; }
  template <typename T>
  T join(T a, T b) const {
    return a * b;
  }
  float of_lanes_before(float value) const { return simd_prefix_exclusive_product(value); }
};

template <uint SimdGroups>
struct ScanMemory {
  float totals[2][SimdGroups];
};

// The inclusive scan of four elements, in two steps.
template <typename Op>
inline float4 scan_of_quad(Op op, float4 v) {
  v.yw = op.join(v.xz, v.yw);
  v.zw = op.join(v.yy, v.zw);
  return v;
}

// The first column of the i-th quad of a scan; past the row's end there is nothing.
template <bool Backward>
inline uint column_of(uint i, uint quads) {
  return 4 * (Backward && i < quads ? quads - 1 - i : i);
}

// All that comes before this thread in the row, where `mine` is the total of its own elements;
// `carry`, of all blocks before, moves on by this block.
template <uint SimdGroups, typename Op>
inline float all_before(Op op, float mine, thread float& carry, threadgroup float* totals,
                        Place place) {
  const float before = op.of_lanes_before(mine);
  if (SimdGroups == 1) {
    const float result = op.join(carry, before);
    carry = op.join(carry, simd_broadcast(op.join(before, mine), 31));
    return result;
  }
  if (place.lane == 31) {
    totals[place.simdgroup] = op.join(before, mine);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float offset = op.neutral();
  float block = op.neutral();
  for (uint i = 0; i < SimdGroups; ++i) {
    offset = i == place.simdgroup ? block : offset;
    block = op.join(block, totals[i]);
  }
  const float result = op.join(op.join(carry, offset), before);
  carry = op.join(carry, block);
  return result;
}

template <uint SimdGroups, typename Op>
inline float all_before(Op op, float mine, thread float& carry, threadgroup float* totals,
                        RowPlace place) {
  const float before = op.of_lanes_before(mine);
  if (place.lane == 31) {
    totals[place.simdgroup] = op.join(before, mine);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float own = partial_of_lane(totals, place, op.neutral());
  const float offsets = op.of_lanes_before(own);
  const float offset = simd_shuffle(offsets, ushort(place.simdgroup));
  const float result = op.join(op.join(carry, offset), before);
  carry = op.join(carry, simd_broadcast(op.join(offsets, own), 31));
  return result;
}

// The scan of a row to `y`, in blocks of Quads quads a thread: Exclusive leaves each element itself
// out, Backward begins at the row's end. Backward, quads are counted from the end and turned round:
// memory is still read and written by quads. `carry` is what comes before the row.
template <uint Threads, uint Quads, bool Exclusive, bool Backward, typename Op, typename Source,
          typename T, typename At>
inline void scan_row(Op op, Source source, device T* y,
                     threadgroup ScanMemory<Threads / 32>& memory, At place, float carry) {
  const uint threads = threads_of<Threads>(place);
  const uint cols = source.cols;
  const uint quads = (cols + 3) / 4;
  uint set = 0;
  for (uint block = 0; block < quads; block += Quads * threads) {
    const uint first = block + Quads * place.thread_index;
    float4 scans[Quads];
    float before[Quads];
    float mine = op.neutral();
    UNROLLED
    for (uint j = 0; j < Quads; ++j) {
      const float4 v = source(column_of<Backward>(first + j, quads));
      scans[j] = scan_of_quad(op, Backward ? v.wzyx : v);
      before[j] = mine;
      mine = op.join(mine, scans[j].w);
    }
    const float offset = all_before<Threads / 32>(op, mine, carry, memory.totals[set], place);
    UNROLLED
    for (uint j = 0; j < Quads; ++j) {
      const float4 own = Exclusive ? float4(op.neutral(), scans[j].xyz) : scans[j];
      const float4 v = op.join(own, float4(op.join(offset, before[j])));
      store_quad(y, column_of<Backward>(first + j, quads), cols, Backward ? v.wzyx : v);
    }
    set ^= 1;
  }
}

template <uint Threads, uint Quads, bool Exclusive, bool Backward, typename Op, typename Source,
          typename T, typename At>
inline void scan_row(Op op, Source source, device T* y,
                     threadgroup ScanMemory<Threads / 32>& memory, At place) {
  scan_row<Threads, Quads, Exclusive, Backward>(op, source, y, memory, place, op.neutral());
}

}  // namespace metalbench
