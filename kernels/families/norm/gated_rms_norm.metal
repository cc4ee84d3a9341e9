// rms_norm(x) * weight * silu(gate): one threadgroup per row, which stays in registers until the
// gate is read, where the result is written. The gate's exponential hides behind memory.
// dispatch: gated_rms_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
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
struct Gated {
  static constant constexpr bool kIsWhole = false;
  device T* y;
  device const T* weight;
  device const T* gate;
  uint cols;

  template <bool Full>
  void put(uint column, float4 v) const {
    const float4 g = load_quad<false, Full>(gate, column, cols);
    const float4 open = g / (1.0f + precise::exp(-g));
    store_quad<false, Full>(y, column, cols,
                            v * load_quad<false, Full>(weight, column, cols) * open);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void gated_rms_norm(
    device const DTYPE* x, device const DTYPE* weight, device const DTYPE* gate, device DTYPE* y,
    constant uint& cols, constant float& eps, uint row [[threadgroup_position_in_grid]],
    ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float partial[TG / 32];
  const ulong from = ulong(row) * cols;
  const Gated<DTYPE> to = {y + from, weight, gate + from, cols};
  scale_row_by_rms_into<TG, KEEP>(row_of(x, row, cols), to, eps, partial, place);
}
