// A row over the mean of its magnitudes: one threadgroup for each row, which is read twice, the
// second time from the cache.
// dispatch: normalise  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void normalise(device const DTYPE* x, device DTYPE* y, constant uint& cols,
                          uint row [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[TG / 32];
  const Row<DTYPE> from = row_of(x, row, cols);
  float4 sums = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    const float4 v = from(column);
    sums += abs(v);
  }
  const float sum = group_sum<TG / 32>(total(sums), partial, Place{thread_index, lane, simdgroup});
  const float factor = float(cols) / sum;
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    store_quad(y + ulong(row) * cols, column, cols, factor * from(column));
  }
}
