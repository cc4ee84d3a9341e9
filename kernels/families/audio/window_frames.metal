// Overlapping frames of a sound, times a window: a thread has four samples of a frame. Hop and
// length are whole quads, so that reads and writes are aligned; what frames share comes from the
// cache, and memory is written once, which is what the time goes to.
// dispatch: window_frames  threads_in_grid=(length / 4, frames)  threads=(50, TG)
// tune: TG = 4, 1, 8
// dtypes: float32, float16, bfloat16
// limits: length % 4 == 0, hop % 4 == 0
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(50 * TG)]] void window_frames(
    device const DTYPE* x, device const DTYPE* window, device DTYPE* y, constant uint& length,
    constant uint& hop, uint2 at [[thread_position_in_grid]]) {
  const float4 v = quad_at(x + ulong(at.y) * hop, at.x) * quad_at(window, at.x);
  put_quad(y + ulong(at.y) * length, at.x, v);
}
