// The smallest along the middle axis. Threads have four columns each, and walk down: neighbours
// read neighbouring columns, and every element is read once.
// dispatch: down  threads_in_grid=(ceil_div(cols, 4), batch)  threads=(QUADS, 1)
// tune: QUADS = 64, 32, 128
// dtypes: float32, float16, bfloat16
#include "metalbench/pool.h"
using namespace metal;
using namespace metalbench;

struct Min {
  float4 first() const { return float4(INFINITY); }
  float4 join(float4 a, float4 b) const { return min(a, b); }
  float4 finish(float4 v, uint) const { return v; }
};

[[kernel]] void down(device const DTYPE* x, device DTYPE* y, constant uint& rows,
                     constant uint& cols, uint2 place [[thread_position_in_grid]]) {
  device const DTYPE* from = x + ulong(place.y) * rows * cols;
  const Min op;
  float4 v = op.first();
  for (uint row = 0; row < rows; ++row) {
    v = op.join(v, load_quad(from + ulong(row) * cols, 4 * place.x, cols));
  }
  store_quad(y + ulong(place.y) * cols, 4 * place.x, cols, op.finish(v, rows));
}
