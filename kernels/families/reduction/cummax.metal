// What the elements of each row up to each column join to: the largest, the smallest, or the
// logarithm of their exponentials' sum. Three levels, the quads of a thread, lanes, SIMD-groups,
// and a carry that every thread knows: one barrier a block (scan.h).
// dispatch: running  threadgroups=(rows)  threads=(TG)
// instance: cummax FUNCTION = 0
// instance: cummin FUNCTION = 1
// instance: logcumsumexp FUNCTION = 2
// tune: TG = 64, 32, 128, 256
// tune: QUADS = 4, 1, 2
// defaults: cuda TG = 128, QUADS = 1
// dtypes: float32, float16, bfloat16
#include "metalbench/running.h"
using namespace metal;
using namespace metalbench;

template <uint Function>
struct Chosen;
template <>
struct Chosen<0> : RunningMax {};
template <>
struct Chosen<1> : RunningMin {};
template <>
struct Chosen<2> : RunningLogSumExp {};

[[kernel]] void running(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ScanMemory<TG / 32> memory;
  Chosen<FUNCTION> op;
  op.lane = lane;
  scan_row<TG, QUADS, false, false>(op, row_of(x, row, cols, op.neutral()), y + ulong(row) * cols,
                                    memory, place);
}
