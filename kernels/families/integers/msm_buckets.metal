// Sums of the points in buckets of a multi-scalar product over BN254 (Pippenger): bucket b has the
// points from offsets[b] to offsets[b + 1]. A SIMD-group has a bucket: its lanes add every 32nd point,
// then their sums by shuffles, both in one loop, as the code of an addition (metalbench/curve.h) fills
// the instruction cache. A second dispatch divides by Z, with one inverse a bucket.
// dispatch: add_points  threadgroups=(ceil_div(buckets, TG / 32))  threads=(TG)
// dispatch: divide_by_z  threads_in_grid=(buckets)  threads=(64)
// scratch: sums uint32 (buckets, 24)
// tune: TG = 64, 32, 128
// defaults: cpu TG = 32
#include "metalbench/curve.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void add_points(
    device const uint* points, device const uint* offsets, device uint* sums,
    constant uint& buckets, constant uint& n, uint group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint bucket = group * (TG / 32) + simdgroup;
  if (bucket >= buckets) {
    return;
  }
  const uint end = min(offsets[bucket + 1], n), first = min(offsets[bucket], end);
  const uint rounds = (end - first + 31) / 32;
  CurvePoint sum = CurvePoint::infinity();
  ROLLED
  for (uint round = 0; round < rounds + 5; ++round) {
    CurvePoint other = CurvePoint::infinity();
    if (round < rounds) {
      const uint at = first + 32 * round + lane;
      if (at < end) {
        device const uint* point = points + ulong(at) * 16;
        other = {CurveNumber::load(point), CurveNumber::load(point + 8), CurveNumber::one()};
      }
    } else {
      other = sum.from_lane(lane ^ (1u << (round - rounds)));
    }
    sum = sum + other;
  }
  if (lane == 0) {
    device uint* to = sums + ulong(bucket) * 24;
    sum.x.store(to);
    sum.y.store(to + 8);
    sum.z.store(to + 16);
  }
}

// The inverse of 0 is 0: infinity is stored as (0, 0), which is not on the curve.
[[kernel]] void divide_by_z(device const uint* sums, device uint* y,
                            uint bucket [[thread_position_in_grid]]) {
  device const uint* from = sums + ulong(bucket) * 24;
  device uint* to = y + ulong(bucket) * 16;
  const CurveNumber inverse = CurveNumber::load(from + 16).inverse();
  (CurveNumber::load(from) * inverse).store(to);
  (CurveNumber::load(from + 8) * inverse).store(to + 8);
}
