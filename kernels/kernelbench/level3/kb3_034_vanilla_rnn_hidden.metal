// A recurrent network, step by step, and a layer of all its states. Three dispatches: what the inputs of
// all steps give is one product, with the weights' columns for inputs; the recurrence is one dispatch, a
// threadgroup for each sequence, whose state never leaves its memory (metalbench/recurrent_layers.h); the
// answers to all steps are one product again.
// dispatch: project_in  threadgroups=(ceil_div(hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur  threadgroups=(batch)  threads=(TG)
// dispatch: answer  threadgroups=(ceil_div(features, BN), ceil_div(steps * batch, BM))  threads=(128)
// scratch: inputs float32 (steps * batch, hidden)
// scratch: states float32 (steps * batch, hidden)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: TG = 1024, 512, 256, 32
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, TG = 32
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// limits: hidden <= 1024
#include "metalbench/linear.h"
#include "metalbench/recurrent_layers.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project_in(
    device const float* x, device const float* i2h_weight, device const float* i2h_bias,
    device float* inputs, constant uint& steps, constant uint& batch, constant uint& inner,
    constant uint& hidden, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<MatrixRows<float>, SlicedRows<float>, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  product.multiply({x, steps * batch, inner}, {i2h_weight, hidden, inner, inner + hidden}, inner);
  product.store(Store<float, Biased<float>>{inputs, steps * batch, hidden, {i2h_bias, hidden}});
}

struct TanhCell {
  static constant constexpr uint kGates = 1;
  device const float* h0;
  device const float* inputs;
  device float* states;
  uint pitch;

  float begin(uint unit) const { return h0[unit]; }
  float next(uint step, uint unit, thread const float (&sums)[1], float) const {
    const ulong at = ulong(step) * pitch + unit;
    return states[at] = precise::tanh(inputs[at] + sums[0]);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void recur(
    device const float* inputs, device const float* h0, device const float* i2h_weight,
    device float* states, constant uint& steps, constant uint& batch, constant uint& inner,
    constant uint& hidden, uint sequence [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup RecurrentMemory memory;
  const uint first = sequence * hidden;
  const TanhCell cell = {h0 + first, inputs + first, states + first, batch * hidden};
  run_steps<TG>(cell, {i2h_weight + inner, hidden, inner + hidden}, steps, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void answer(
    device const float* states, device const float* h2o_weight, device const float* h2o_bias,
    device float* y, constant uint& steps, constant uint& batch, constant uint& hidden,
    constant uint& features, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {states, h2o_weight, steps * batch, hidden, features};
  layer.store(y, Biased<float>{h2o_bias, features}, tile, memory, PLACE);
}
