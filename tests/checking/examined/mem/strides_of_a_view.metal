// A strided view with as many strides as it has axes, walked to one more.
// tune: BUG = 1, 0
// value: n = 24
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: copy threads_in_grid=(n) threads=(8)
#include <metal_stdlib>
using namespace metal;

struct View {
  uint shape[3];
  uint strides[3];
};

uint place_in(thread const View& view, uint index, int axes) {
  uint place = 0;
  for (int axis = axes - 1; axis >= 0; --axis) {
    place += index % view.shape[axis % 3] * view.strides[axis];  // bug: out-of-bounds
    index /= view.shape[axis % 3];
  }
  return place % 24;
}

kernel void copy(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  View view = {{2, 3, 4}, {12, 4, 1}};
  y[i] = x[place_in(view, i, BUG ? 4 : 3)];
}
