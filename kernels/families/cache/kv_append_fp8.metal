// New rows into a cache of E4M3: elements by their head's scale become codes, the nearest and of
// two the even one (metalbench/quantise_floats.h), and what is too large the largest. What the cache
// has goes over first, sixteen codes a thread; then a thread makes a word of four.
// dispatch: copy  threads_in_grid=(heads * length * dims / 16)  threads=(TG)
// dispatch: place  threads_in_grid=(heads * dims / 4, tokens)  threads=(TG, 1)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: dims % 4 == 0, heads * length * dims % 16 == 0
#include "metalbench/quantise_floats.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void copy(device const uchar* cache, device uchar* y,
                     uint i [[thread_position_in_grid]]) {
  ((device uint4*)y)[i] = ((device const uint4*)cache)[i];
}

[[kernel]] void place(device const DTYPE* cache_scales, device const DTYPE* fresh,
                      device const uint* position, device uchar* y, constant uint& heads,
                      constant uint& length, constant uint& dims,
                      uint2 at [[thread_position_in_grid]]) {
  const uint quads = dims / 4, head = at.x / quads;
  const float4 v = quad_at(fresh + ulong(at.y) * heads * dims, at.x) / float(cache_scales[head]);
  const uint codes = e4m3_of(v.x) | e4m3_of(v.y) << 8 | e4m3_of(v.z) << 16 | e4m3_of(v.w) << 24;
  const ulong row = ulong(head) * length + position[at.y];
  ((device uint*)y)[row * quads + at.x % quads] = codes;
}
