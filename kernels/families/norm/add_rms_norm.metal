// The sum of x and a residual, and its root-mean-square norm with a weight, both written: one
// threadgroup per row. The sum lives in registers, so that nothing is read twice; the norm is that
// of the sum before it is rounded.
// dispatch: add_rms_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

template <typename T>
struct Both {
  static constant constexpr bool kIsWhole = false;
  device T* y;
  device T* sum;
  device const T* weight;
  device const T* x;
  device const T* residual;
  uint cols;

  template <bool Full>
  void put(uint column, float4 v) const {
    store_quad<false, Full>(y, column, cols, v * load_quad<false, Full>(weight, column, cols));
    store_quad<false, Full>(
        sum, column, cols,
        load_quad<false, Full>(x, column, cols) + load_quad<false, Full>(residual, column, cols));
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void add_rms_norm(
    device const DTYPE* x, device const DTYPE* weight, device const DTYPE* residual,
    device DTYPE* y, device DTYPE* sum, constant uint& cols, constant float& eps,
    uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float partial[TG / 32];
  const ulong from = ulong(row) * cols;
  const Both<DTYPE> to = {y + from, sum + from, weight, x + from, residual + from, cols};
  scale_row_by_rms_into<TG, KEEP>(row_of_sum(x, residual, row, cols), to, eps, partial, place);
}
