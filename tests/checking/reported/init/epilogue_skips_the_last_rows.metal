// The epilogue writes whole blocks of rows only, as reported of Dao-AILab/flash-attention#1813.
// tune: BUG = 1, 0
// value: rows = 20
// value: dim = 16
// buffer: q float32 (rows, dim) normal
// buffer: o float32 (rows, dim) output
// dispatch: forward threadgroups=(ceil_div(rows, 8)) threads=(dim, 8)
#include <metal_stdlib>
using namespace metal;

kernel void forward(device const float* q,
                    device float* o,  // bug: output-not-written
                    constant uint& rows, constant uint& dim,
                    uint2 block [[threadgroup_position_in_grid]],
                    uint2 t [[thread_position_in_threadgroup]]) {
  uint first = block.x * 8, row = first + t.y;
  bool is_whole = first + 8 <= rows;
  if (BUG ? is_whole : row < rows) o[row * dim + t.x] = 2 * q[row * dim + t.x];
}
