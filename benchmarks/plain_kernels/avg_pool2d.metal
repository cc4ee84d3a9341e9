// Mean of every 2 x 2 block, channels last, one thread for each element of the result.
// dispatch: avg_pool2d  threads_in_grid=(channels, width / 2, batch * (height / 2))  threads=(16, 4, 4)
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel]] void avg_pool2d(device const DTYPE* x, device DTYPE* y, constant uint& height,
                           constant uint& width, constant uint& channels,
                           uint3 p [[thread_position_in_grid]]) {
  const uint down = height / 2, across = width / 2;
  const uint image = p.z / down, line = p.z % down;
  float sum = 0.0f;
  for (uint i = 0; i < 2; ++i) {
    for (uint j = 0; j < 2; ++j) {
      const uint pixel = (image * height + 2 * line + i) * width + 2 * p.y + j;
      sum += float(x[pixel * channels + p.x]);
    }
  }
  y[(p.z * across + p.y) * channels + p.x] = DTYPE(sum / 4.0f);
}
