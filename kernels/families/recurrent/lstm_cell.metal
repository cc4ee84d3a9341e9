// One step of a long short-term memory: a thread has four hidden units, whose four gates lie a row's
// quarter apart. Everything between the sums of the gates and the new state stays in registers: six
// arrays' worth of memory, where single operations would take some thirty.
// dispatch: lstm_cell  threads_in_grid=(ceil_div(hidden, 4), batch)  threads=(TG, 1)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

static float4 opened(float4 v) { return 1.0f / (1.0f + precise::exp(-v)); }

[[kernel]] void lstm_cell(device const DTYPE* gates, device const DTYPE* cell, device DTYPE* h,
                          device DTYPE* c, constant uint& hidden,
                          uint2 at [[thread_position_in_grid]]) {
  device const DTYPE* row = gates + ulong(at.y) * 4 * hidden;
  const ulong first = ulong(at.y) * hidden;
  const uint column = 4 * at.x;
  const float4 in = opened(load_quad(row, column, hidden));
  const float4 keep = opened(load_quad(row + hidden, column, hidden));
  const float4 candidate = precise::tanh(load_quad(row + 2 * hidden, column, hidden));
  const float4 out = opened(load_quad(row + 3 * hidden, column, hidden));
  const float4 state = fma(keep, load_quad(cell + first, column, hidden), in * candidate);
  store_quad(c + first, column, hidden, state);
  store_quad(h + first, column, hidden, out * precise::tanh(state));
}
