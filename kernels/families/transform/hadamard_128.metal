// Hadamard transforms of rows of 128, one SIMD-group a row: two of the seven steps are within a
// lane's four elements, the other five are shuffles among lanes. There is neither threadgroup
// memory nor a barrier; a row is read and written once.
// dispatch: hadamard_128  threadgroups=(ceil_div(rows, TG / 32))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols == 128
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void hadamard_128(device const DTYPE* x, device DTYPE* y, constant uint& rows,
                             uint group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group * (TG / 32) + simdgroup;
  if (row >= rows) {
    return;
  }
  float4 v = quad_at(x + ulong(row) * 128, lane);
  v = float4(v.x + v.y, v.x - v.y, v.z + v.w, v.z - v.w);
  v = float4(v.xy + v.zw, v.xy - v.zw);
  for (uint step = 1; step < 32; step *= 2) {
    const float4 other = simd_shuffle_xor(v, ushort(step));
    v = other + select(v, -v, bool4((lane & step) != 0));
  }
  put_quad(y + ulong(row) * 128, lane, v * rsqrt(128.0f));
}
