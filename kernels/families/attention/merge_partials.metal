// The second half of an attention that is split over keys (metalbench/split_decode.h): each span
// has left a sum of values and one of weights, both relative to its largest score. A thread makes
// four columns of a query; the few numbers of its spans come from the cache, as a broadcast.
// dispatch: merge  threads_in_grid=(ceil_div(dims, 4), heads)  threads=(TG, 4)
// tune: TG = 32, 16, 64
// dtypes: float32, float16, bfloat16
#include "metalbench/split_decode.h"
using namespace metalbench;

struct NaturalLevels {
  device const DTYPE* peak;
  device const DTYPE* whole;
  float2 operator()(uint i) const { return float2(float(peak[i]) * kLog2E, float(whole[i])); }
};

[[kernel]] void merge(device const DTYPE* out, device const DTYPE* peak, device const DTYPE* whole,
                      device DTYPE* y, constant uint& spans, constant uint& dims,
                      uint2 at [[thread_position_in_grid]]) {
  const ulong first = ulong(at.y) * spans;
  merge_partials(out + first * dims, NaturalLevels{peak + first, whole + first},
                 y + ulong(at.y) * dims, spans, dims, 4 * at.x);
}
