// Matrix times vector, weights of 2 to 8 bits with a scale and a bias a group, by columns: threadgroups
// have whole rows, and threads keep their part of the vector while rows pass by
// (metalbench/quantised_columns.h). SIMDGROUPS is how many SIMD-groups the rows are dealt to, eight at least
// to each threadgroup.
// dispatch: qmv  threadgroups=(ceil_div(rows, min(64, 8 * ceil_div(rows * min(TG / 32, ceil_div(cols, 1024)), 8 * SIMDGROUPS))))  threads=(min(TG, 32 * ceil_div(cols, 1024)))
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q4_g32 BITS = 4, GROUP = 32
// instance: q4_g128 BITS = 4, GROUP = 128
// instance: q2_g64 BITS = 2, GROUP = 64
// instance: q3_g64 BITS = 3, GROUP = 64
// instance: q5_g64 BITS = 5, GROUP = 64
// instance: q6_g64 BITS = 6, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// instance: q8_g32 BITS = 8, GROUP = 32
// tune: TG = 448, 128, 256
// tune: SIMDGROUPS = 1792, 512, 1024, 3584
// tune: HALVES = 1, 0
// defaults: cpu HALVES = 0
// defaults: cuda float32 HALVES = 0
// dtypes: float32, float16, bfloat16
// limits: cols % GROUP == 0
#include "metalbench/quantised_columns.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void qmv(
    device const DTYPE* x, device const uint* w, device const DTYPE* w_scales,
    device const DTYPE* w_biases, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint group [[threadgroup_position_in_grid]], uint threads [[threads_per_threadgroup]],
    PLACE_ARGUMENTS) {
  using Format = WholeNumbers<DTYPE, BITS, GROUP, HALVES>;
  using Matvec = MatvecByColumns<TG, Format, DTYPE>;
  threadgroup Matvec::Memory memory;
  const Weights<Format> weights = {w, {w_scales, w_biases}, cols};
  const uint count =
      min(64u, 8 * ((rows * (threads / 32) + 8 * SIMDGROUPS - 1) / (8 * SIMDGROUPS)));
  Matvec::compute(weights, x, y, rows, group * count, count, threads, memory, PLACE);
}
