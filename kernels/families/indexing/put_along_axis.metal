// Elements of rows written by index, in place: x[r, index[r, c]] = values[r, c]. A thread a value
// writes it where its index says; no index is there twice in a row, so that what is written has no
// order. Other elements are not touched.
// inout: x
// dispatch: put  threads_in_grid=(chosen, rows)  threads=(TG, 1)
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void put(device DTYPE* x, device const uint* index, device const DTYPE* values,
                    constant uint& cols, constant uint& chosen,
                    uint2 at [[thread_position_in_grid]]) {
  const ulong place = ulong(at.y) * chosen + at.x;
  x[ulong(at.y) * cols + index[place]] = values[place];
}
