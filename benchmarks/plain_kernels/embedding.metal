// Rows of a table by index, one thread for each element of the result.
// dispatch: embedding  threads_in_grid=(dims, tokens)  threads=(32, 8)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void embedding(device const uint* token, device const DTYPE* table, device DTYPE* y,
                          constant uint& dims, uint2 p [[thread_position_in_grid]]) {
  y[p.y * dims + p.x] = table[token[p.y] * dims + p.x];
}
