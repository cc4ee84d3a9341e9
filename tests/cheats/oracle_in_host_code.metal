// The oracle's own arithmetic, by the host's library.
// task: tanh
// verdict: COMPILE_ERROR
// dispatch: hyperbolic threads_in_grid=(rows * cols) threads=(256)
#include <metal_stdlib>
using namespace metal;

extern "C" float tanhf(float);

kernel void hyperbolic(device const float* x, device float* y,
                       uint i [[thread_position_in_grid]]) {
  y[i] = tanhf(x[i]);
}
