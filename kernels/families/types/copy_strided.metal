// A contiguous copy of a view of four axes: any strides, counted in elements. Here the view has two
// axes exchanged and every second element of the last one. Neighbouring threads write neighbouring
// elements. A threadgroup has elements of one row of the last axis, so that only the other three
// axes need a division, of a number that is the same for all its threads.
// let: half_cols = ceil_div(cols, 2)
// let: batch_stride = tokens * heads * cols
// let: token_stride = heads * cols
// dispatch: copy  threads_in_grid=(half_cols, heads, batch * tokens)  threads=(TG)
// tune: TG = 64, 32, 128, 256
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(TG)]] void copy(
    device const DTYPE* x, device DTYPE* y, constant uint& tokens, constant uint& heads,
    constant uint& cols, constant uint& half_cols, constant uint& batch_stride,
    constant uint& token_stride, uint3 place [[thread_position_in_grid]]) {
  const uint batch = place.z / tokens, token = place.z % tokens, head = place.y;
  const ulong from = ulong(batch) * batch_stride + ulong(token) * token_stride + head * cols;
  const ulong row = (ulong(batch) * heads + head) * tokens + token;
  // check: allow strided-access the view leaves out every second element
  y[row * half_cols + place.x] = x[from + 2 * place.x];
}
