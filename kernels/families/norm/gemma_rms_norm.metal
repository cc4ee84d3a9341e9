// Row root-mean-square norm with weights that are stored as their distance from one, as Gemma's
// are: y = x / rms(x) (1 + w). The one is added in float, so that small weights of half width lose
// nothing by it. One threadgroup per row, the row read once into registers.
// dispatch: gemma_rms_norm  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

struct WeightedFromOne {
  static constant constexpr bool kIsWhole = false;
  device DTYPE* y;
  device const DTYPE* weight;
  uint cols;

  template <bool Full>
  void put(uint column, float4 v) const {
    store_quad<false, Full>(y, column, cols,
                            v * (1.0f + load_quad<false, Full>(weight, column, cols)));
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void gemma_rms_norm(
    device const DTYPE* x, device const DTYPE* w, device DTYPE* y, constant uint& cols,
    constant float& eps, uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup float partial[TG / 32];
  const WeightedFromOne to = {y + ulong(row) * cols, w, cols};
  scale_row_by_rms_into<TG, KEEP>(row_of(x, row, cols), to, eps, partial, place);
}
