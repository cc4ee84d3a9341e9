// The sum over each row of x W + b; the largest, the mean and the logsumexp of one number are this
// number. The sum of a row's products with all filters is its product with their sum, so the
// filters are added up first, and there is nothing to multiply but a vector.
// dispatch: add_filters  threadgroups=(ceil_div(ceil_div(inner, 4), QUADS), 1)  threads=(QUADS, DOWN)
// dispatch: multiply  threadgroups=(batch)  threads=(TG)
// scratch: sums float32 (inner)
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8, 32, 64
// tune: TG = 64, 32, 128, 256
#include "metalbench/columns.h"
#include "metalbench/joins.h"
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void add_filters(
    device const float* linear_weight, device float* sums, constant uint& features,
    constant uint& inner, uint2 group [[threadgroup_position_in_grid]],
    uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[DOWN][QUADS];
  reduce_columns<QUADS, DOWN>(Sum(), linear_weight, sums, features, inner, group, at, partial);
}

[[kernel]] void multiply(device const float* x, device const float* sums,
                         device const float* linear_bias, device float* y, constant uint& inner,
                         constant uint& features, uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float partial[TG / 32];
  const Place place = {thread_index, lane, simdgroup};
  const Row<float> from = row_of(x, row, inner);
  const Row<float> filters = row_of(sums, 0, inner);
  float4 products = 0.0f;
  for (uint column = 4 * thread_index; column < inner; column += 4 * TG) {
    products = fma(from(column), filters(column), products);
  }
  const Row<float> bias = row_of(linear_bias, 0, features);
  for (uint column = 4 * thread_index; column < features; column += 4 * TG) {
    products += bias(column);
  }
  const float sum = group_sum<TG / 32>(total(products), partial, place);
  if (thread_index == 0) {
    y[row] = sum;
  }
}
