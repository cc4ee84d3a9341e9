// Attention with two heads of queries to one of keys: the query's head is taken for the key's.
// tune: BUG = 1, 0
// value: heads = 4
// value: length = 32
// buffer: q float32 (heads, 16) normal
// buffer: keys float32 (ceil_div(heads, 2), length, 16) normal
// buffer: scores float32 (heads, length) output
// dispatch: k threadgroups=(heads) threads=(length)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* q, device const float* keys, device float* scores,
              constant uint& length, uint head [[threadgroup_position_in_grid]],
              uint token [[thread_position_in_threadgroup]]) {
  uint shared = BUG ? head : head / 2;
  device const float4* key = (device const float4*)(keys + (shared * length + token) * 16);
  device const float4* query = (device const float4*)(q + head * 16);
  float score = 0;
  for (uint j = 0; j < 4; ++j)
    score += dot(query[j], key[j]);  // bug: out-of-bounds
  scores[head * length + token] = score * rsqrt(16.0f);
}
