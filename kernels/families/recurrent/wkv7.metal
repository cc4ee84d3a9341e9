// The recurrence of RWKV-7: one SIMD-group a row of a head's state, whose elements the lanes hold in
// registers from the first token to the last. A token takes two SIMD-group sums: of the row and a,
// and, changed, of the row and r. Rows of a head read the same five vectors, and no row waits for
// another.
// dispatch: wkv7  threadgroups=(ceil_div(dims, TG / 32), heads)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

constant constexpr uint HELD = 4;  // of a lane: 128 dims at most

static float element(device const DTYPE* row, uint column, uint dims) {
  return column < dims ? float(row[column]) : 0.0f;
}

[[kernel]] void wkv7(device const DTYPE* r, device const DTYPE* w, device const DTYPE* k,
                     device const DTYPE* v, device const DTYPE* a, device const DTYPE* b,
                     device DTYPE* y, constant uint& tokens, constant uint& heads,
                     constant uint& dims, uint2 group [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.x * (TG / 32) + simdgroup;
  if (row >= dims) {
    return;
  }
  float state[HELD];
  for (uint i = 0; i < HELD; ++i) {
    state[i] = 0.0f;
  }
  for (uint t = 0; t < tokens; ++t) {
    const ulong at = (ulong(t) * heads + group.y) * dims;
    float turned = 0.0f;
    for (uint i = 0; i < HELD; ++i) {
      turned = fma(state[i], element(a + at, lane + 32 * i, dims), turned);
    }
    turned = simd_sum(turned);
    const float value = float(v[at + row]);
    float answer = 0.0f;
    for (uint i = 0; i < HELD; ++i) {
      const uint column = lane + 32 * i;
      const float added =
          fma(value, element(k + at, column, dims), turned * element(b + at, column, dims));
      state[i] = fma(state[i], element(w + at, column, dims), added);
      answer = fma(state[i], element(r + at, column, dims), answer);
    }
    answer = simd_sum(answer);
    if (lane == 0) {
      y[at + row] = DTYPE(answer);
    }
  }
}
