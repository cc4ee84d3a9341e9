// Rotary positions of half of a head: of its first dims / 2 columns i and i + dims / 4 are a point,
// and the others are copied. Threads turn four points or copy eight columns, of HEADS heads: points
// have their directions in common, and a row takes one pass.
// dispatch: rope_partial  threads_in_grid=(ceil_div(dims / 4, 4) + ceil_div(dims - dims / 2, 8), tokens, ceil_div(heads, HEADS))  threads=(16, TG / 16, 1)
// tune: TG = 128, 32, 64, 256
// tune: HEADS = 8, 1, 4, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/rope.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rope_partial(device const DTYPE* x, device DTYPE* y, constant uint& heads,
                             constant uint& tokens, constant uint& dims, constant float& base,
                             constant uint& offset, uint3 at [[thread_position_in_grid]]) {
  const ulong pitch = ulong(tokens) * dims;
  const uint first = at.z * HEADS, count = min(uint(HEADS), heads - first);
  x += first * pitch + at.y * dims;
  y += first * pitch + at.y * dims;
  const uint points = dims / 4, turning = (points + 3) / 4;
  if (at.x < turning) {
    rope_halves(x, y, count, pitch, 4 * at.x, points, offset + at.y, base);
    return;
  }
  const uint column = 2 * points + 8 * (at.x - turning);
  for (uint head = 0; head < count; ++head, x += pitch, y += pitch) {
    store_quad(y, column, dims, load_quad(x, column, dims));
    store_quad(y, column + 4, dims, load_quad(x, column + 4, dims));
  }
}
