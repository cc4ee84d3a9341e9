// Elements of rows by index: y[r, c] = x[r, index[r, c]]. Indices are read and results written in
// whole cache lines; where the elements come from is up to the indices, so that a thread has one of
// them and there are as many reads on their way as lanes.
// dispatch: take_along_axis  threads_in_grid=(chosen, rows)  threads=(TG, 1)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void take_along_axis(device const DTYPE* x, device const uint* index, device DTYPE* y,
                                constant uint& cols, constant uint& chosen,
                                uint2 at [[thread_position_in_grid]]) {
  const ulong place = ulong(at.y) * chosen + at.x;
  y[place] = x[ulong(at.y) * cols + index[place]];
}
