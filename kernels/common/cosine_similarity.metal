// Cosine of the angle between each pair of rows: x y / (|x| |y|), one threadgroup per pair. The
// three sums are taken in one pass and reduced together, as a vector: one SIMD-group function and
// one barrier for all three. The roots are multiplied, not the squares, which may overflow; eps
// keeps rows of zeros from dividing by zero.
// dispatch: cosine_similarity  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32
// defaults: cuda TG = 32
#include "metalbench/reduce.h"
#include "metalbench/rows.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void cosine_similarity(
    device const DTYPE* x, device const DTYPE* y, device DTYPE* similarity, constant uint& cols,
    constant float& eps, uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(place);
  threadgroup float3 partial[TG / 32];
  const Row<DTYPE> x_row = row_of(x, row, cols);
  const Row<DTYPE> y_row = row_of(y, row, cols);
  float4 products = 0.0f;
  float4 x_squares = 0.0f;
  float4 y_squares = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * threads) {
    const float4 v = x_row(column);
    const float4 w = y_row(column);
    products = fma(v, w, products);
    x_squares = fma(v, v, x_squares);
    y_squares = fma(w, w, y_squares);
  }
  const float3 all = group_sum<TG / 32>(float3(total(products), total(x_squares), total(y_squares)),
                                        partial, place);
  if (thread_index == 0) {
    const float lengths = precise::sqrt(all.y) * precise::sqrt(all.z);
    similarity[row] = DTYPE(all.x / max(lengths, eps));
  }
}
