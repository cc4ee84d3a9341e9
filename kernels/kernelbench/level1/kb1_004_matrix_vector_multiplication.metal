// A matrix by a vector: one threadgroup a row, for rows are long. The matrix is read once, in quads,
// and bounds the speed; two sums for each thread shorten the chain of additions.
// dispatch: matvec  threadgroups=(m)  threads=(TG)
// tune: TG = 512, 128, 32, 64, 256
// defaults: cpu TG = 128
// defaults: cuda TG = 128
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void matvec(
    device const float* a, device const float* b, device float* y, constant uint& k,
    uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[TG / 32];
  const Place place = {thread_index, lane, simdgroup};
  const Row<float> from = row_of(a, row, k);
  const Row<float> vector = row_of(b, 0, k);
  float4 first = 0.0f;
  float4 second = 0.0f;
  for (uint column = 4 * thread_index; column < k; column += 8 * TG) {
    first = fma(from(column), vector(column), first);
    const uint next = column + 4 * TG;
    second = fma(from(next), vector(next), second);
  }
  const float sum = group_sum<TG / 32>(total(first + second), partial, place);
  if (thread_index == 0) {
    y[row] = sum;
  }
}
