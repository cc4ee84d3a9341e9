// Adaptive instance norm over time: every channel of every clip is standardised along its row and
// given the scale and shift that a style asks for, one number each. One threadgroup per row, the
// row read once; the variance is that of deviations, so signals far from zero lose nothing.
// dispatch: adain1d  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128 * KEEP))))
// tune: TG = 1024, 32, 64, 128, 256
// tune: KEEP = 2, 8, 1, 4
// tune: LEAST = 32, 1024
// defaults: cpu TG = 32, KEEP = 8
// defaults: cuda TG = 32, KEEP = 8
// dtypes: float32, float16, bfloat16
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

struct ScaledShifted {
  static constant constexpr bool kIsWhole = false;
  device DTYPE* y;
  uint cols;
  float scale;
  float shift;

  template <bool Full>
  void put(uint column, float4 v) const {
    store_quad<false, Full>(y, column, cols, fma(v, float4(scale), float4(shift)));
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void adain1d(
    device const DTYPE* x, device const DTYPE* gamma, device const DTYPE* beta, device DTYPE* y,
    constant uint& cols, constant float& eps, uint row [[threadgroup_position_in_grid]],
    ROW_PLACE_ARGUMENTS) {
  const auto place = ROW_PLACE(LEAST, TG);
  threadgroup MomentMemory<TG / 32> memory;
  const ScaledShifted to = {y + ulong(row) * cols, cols, float(gamma[row]), float(beta[row])};
  standardise_row_into<TG, KEEP>(row_of(x, row, cols), to, eps, memory, place);
}
