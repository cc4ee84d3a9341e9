// Mamba-2's scan, all outputs. At 16 columns a state the steps are bound by reading x and writing y, so
// that products of chunks would only add work: a thread has a row of a head's state in registers from
// the first step to the last (metalbench/state_columns.h), and neighbouring threads read neighbouring
// dims. Batches times heads keep a GPU busy.
// dispatch: scan  threadgroups=(ceil_div(dims, TG), heads, batch)  threads=(TG)
// tune: STATES = 16, 32, 64
// tune: TG = 64, 32, 128
// defaults: cpu TG = 32
// limits: state <= STATES
#include "metalbench/state_columns.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void scan(
    device const float* x, device const float* A, device const float* B, device const float* C,
    device float* y, constant uint& steps, constant uint& heads, constant uint& dims,
    constant uint& state, uint3 group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  const uint row = group.x * TG + thread_index;
  if (row >= dims) {
    return;
  }
  const uint first = group.z * steps * heads + group.y, pitch = heads * dims;
  x += ulong(first) * dims + row;
  y += ulong(first) * dims + row;
  A += first;
  B += ulong(first) * state;
  C += ulong(first) * state;
  StateColumns<STATES> own;
  own.clear();
  for (uint step = 0; step < steps; ++step) {
    own.step(precise::exp(*A), *x, B, state);
    *y = own.dot(C, state);
    x += pitch;
    y += pitch;
    A += heads;
    B += heads * state;
    C += heads * state;
  }
}
