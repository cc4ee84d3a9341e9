// The second half of an attention that is split over keys (metalbench/split_decode.h): each span
// has left a sum of values and one of weights, both relative to its largest score. A threadgroup
// makes a query's results; its SIMD-groups take turns at spans (metalbench/partials.h).
// dispatch: merge  threadgroups=(heads)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/split_decode.h"
using namespace metalbench;

struct NaturalLevels {
  device const DTYPE* peak;
  device const DTYPE* whole;
  float2 operator()(uint i) const { return float2(float(peak[i]) * kLog2E, float(whole[i])); }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void merge(
    device const DTYPE* out, device const DTYPE* peak, device const DTYPE* whole, device DTYPE* y,
    constant uint& spans, constant uint& dims, uint query [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  const ulong first = ulong(query) * spans;
  threadgroup Merge<TG / 32>::Memory memory;
  Merge<TG / 32>::join(out + first * dims, NaturalLevels{peak + first, whole + first},
                       y + ulong(query) * dims, spans, dims, memory, PLACE);
}
