// Gradients of the root-mean-square norm with weights, of its input and of the weights, from that
// of its output: rows first, one threadgroup each, which leaves every row's factor behind; then
// strips of columns over all rows, which take the factors and sum in the same order always.
// dispatch: of_rows  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// dispatch: of_weights  threadgroups=(ceil_div(ceil_div(cols, 4), QUADS))  threads=(QUADS, DOWN)
// scratch: moments float32 (rows, 2)
// tune: TG = 1024, 64, 32, 128, 256
// tune: QUADS = 8, 16, 32
// tune: DOWN = 64, 8, 4, 16
// tune: LEAST = 32, 1024
// defaults: cpu TG = 64, QUADS = 16, DOWN = 8, LEAST = 1024
// defaults: cuda TG = 256, LEAST = 1024
// dtypes: float32, float16, bfloat16
#include "metalbench/norm_gradients.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void of_rows(
    device const DTYPE* x, device const DTYPE* w, device const DTYPE* g, device DTYPE* dx,
    device float* moments, constant uint& cols, constant float& eps,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float squares[TG / 32];
  const Row<DTYPE> from = row_of(x, row, cols);
  float4 sum = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    sum += from(column) * from(column);
  }
  const float all = group_sum<TG / 32>(total(sum), squares, place);
  const float2 moment = float2(0.0f, precise::rsqrt(all / float(cols) + eps));
  if (thread_index == 0) {
    ((device float2*)moments)[row] = moment;
  }
  threadgroup float2 partial[TG / 32];
  const NormGradient<DTYPE> gradient = {row_of(x, row, cols), row_of(w, 0, cols),
                                        row_of(g, row, cols), moment.x, moment.y};
  gradient.store<TG, false>(dx + ulong(row) * cols, partial, place);
}

[[kernel, max_total_threads_per_threadgroup(QUADS * DOWN)]] void of_weights(
    device const DTYPE* x, device const DTYPE* g, device const float* moments, device DTYPE* dw,
    constant uint& rows, constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
    uint2 thread_position [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[2][DOWN][QUADS];
  const uint column = 4 * (group.x * QUADS + thread_position.x);
  const ColumnSums sums = column_sums<QUADS, DOWN>(x, g, (device const float2*)moments, rows, cols,
                                                   column, thread_position, partial);
  if (thread_position.y == 0 && column < cols) {
    store_quad(dw, column, cols, sums.along);
  }
}
