// New rows into a cache of E4M3, in place: elements by their head's scale become codes, the nearest
// and of two the even one (metalbench/quantise_floats.h), and what is too large the largest. A thread
// makes a word of four. Other rows are not touched.
// inout: cache
// dispatch: place  threads_in_grid=(heads * dims / 4, tokens)  threads=(TG, 1)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: dims % 4 == 0
#include "metalbench/quantise_floats.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void place(device uchar* cache, device const DTYPE* cache_scales,
                      device const DTYPE* fresh, device const uint* position,
                      constant uint& heads, constant uint& length, constant uint& dims,
                      uint2 at [[thread_position_in_grid]]) {
  const uint quads = dims / 4, head = at.x / quads;
  const float4 v = quad_at(fresh + ulong(at.y) * heads * dims, at.x) / float(cache_scales[head]);
  const uint codes = e4m3_of(v.x) | e4m3_of(v.y) << 8 | e4m3_of(v.z) << 16 | e4m3_of(v.w) << 24;
  const ulong row = ulong(head) * length + position[at.y];
  ((device uint*)cache)[row * quads + at.x % quads] = codes;
}
