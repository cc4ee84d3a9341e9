// Weighted sums of the rows that the experts of a token made: a thread has four columns, and adds
// the four rows as it reads them, so that each is read once and whole cache lines at a time. All
// threads of a token read the same places and weights, a broadcast.
// dispatch: moe_combine  threads_in_grid=(ceil_div(dims, 4), tokens)  threads=(TG, 1)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: k == 4
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint COUNT = 4;

[[kernel]] void moe_combine(device const DTYPE* y, device const DTYPE* weights,
                            device const uint* place, device DTYPE* out, constant uint& dims,
                            uint2 at [[thread_position_in_grid]]) {
  float4 sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < COUNT; ++i) {
    const uint row = place[at.y * COUNT + i];
    const float weight = float(weights[at.y * COUNT + i]);
    sum = fma(weight, load_quad(y + ulong(row) * dims, 4 * at.x, dims), sum);
  }
  store_quad(out + ulong(at.y) * dims, 4 * at.x, dims, sum);
}
