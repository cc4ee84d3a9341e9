import numpy as np

import metalbench

S = """#include <metal_stdlib>
using namespace metal;
kernel void k(device const T* x, device T* y, uint t [[thread_position_in_grid]]) {
  T sum;
  for (uint i = 0; i < 4; ++i) sum += x[(t + i) % 64];
  y[t] = sum;
}"""
for T, dt in (("int", np.int32), ("float", np.float32)):
    x = np.arange(64, dtype=dt)
    ref = sum(np.roll(x, -i) for i in range(4))
    r = metalbench.check_kernel(S.replace("T", T), {"x": x}, {"y": ref}, grid=64, threadgroup=64)
    print(T, "passed", r.passed, str(r)[:200])
