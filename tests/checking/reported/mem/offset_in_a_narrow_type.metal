// The offset of a row is computed in a type that is too narrow, as reported of microsoft/onnxruntime#28107.
// tune: BUG = 1, 0
// value: rows = 260
// value: width = 128
// buffer: table float32 (rows, width) normal
// buffer: y float32 (width) output
// dispatch: gather_last threads_in_grid=(width) threads=(128)
#include <metal_stdlib>
using namespace metal;

kernel void gather_last(device const float* table, device float* y, constant uint& rows,
                        constant uint& width, uint i [[thread_position_in_grid]]) {
  int begin = BUG ? int(short((rows - 1) * width)) : int((rows - 1) * width);
  y[i] = table[begin + int(i)];  // bug: wild-pointer
}
