// The dispatches of stacked recurrent layers, as PyTorch has them (recurrent_layers.h). Macros say
// which: LSTM is 1 for an LSTM and 0 for a GRU, DIRECTIONS is 1, or 2 where a second recurrence
// goes from the last step to the first. For each layer in order:
//   project   what the inputs of all steps give, for each direction
//   recur     all steps of all sequences, both directions beside each other
// Row `step * step_rows + sequence * sequence_rows` of inputs and outputs is a step of a sequence.
// A layer's outputs, (rows, DIRECTIONS * hidden), may replace those of the layer before.
#pragma once
#include "metalbench/linear.h"
#include "metalbench/recurrent_layers.h"

namespace metalbench {

#if LSTM
constant constexpr uint kGateRows = 4;
#else
constant constexpr uint kGateRows = 3;
#endif

// One direction of one sequence.
struct SequenceCell {
  static constant constexpr uint kGates = kGateRows;
  device const float* inputs;
  device const float* bias;
  device const float* h0;
  device float* outputs;
  device float* last_h;
#if LSTM
  device const float* c0;
  device float* last_c;
  threadgroup float* cells;
#endif
  uint hidden;
  uint steps;
  uint step_rows;
  bool is_backwards;

  float begin(uint unit) const {
#if LSTM
    cells[unit] = c0[unit];
#endif
    return h0[unit];
  }

  float next(uint step, uint unit, thread const float (&sums)[kGates], float h) const {
    const uint row = (is_backwards ? steps - 1 - step : step) * step_rows;
    device const float* in = inputs + ulong(row) * (kGates * hidden) + unit;
    device const float* added = bias + unit;
    const bool is_last = step + 1 == steps;
#if LSTM
    const float i = Sigmoid()(in[0] + added[0] + sums[0]);
    const float f = Sigmoid()(in[hidden] + added[hidden] + sums[1]);
    const float g = precise::tanh(in[2 * hidden] + added[2 * hidden] + sums[2]);
    const float o = Sigmoid()(in[3 * hidden] + added[3 * hidden] + sums[3]);
    const float c = fma(i, g, f * cells[unit]);
    cells[unit] = c;
    const float after = o * precise::tanh(c);
    if (is_last) {
      last_c[unit] = c;
    }
#else
    const float reset = Sigmoid()(in[0] + added[0] + sums[0]);
    const float update = Sigmoid()(in[hidden] + added[hidden] + sums[1]);
    const float candidate = precise::tanh(fma(reset, added[2 * hidden] + sums[2], in[2 * hidden]));
    const float after = (1.0f - update) * candidate + update * h;
#endif
    outputs[ulong(row) * (DIRECTIONS * hidden) + unit] = after;
    if (is_last) {
      last_h[unit] = after;
    }
    return after;
  }
};

}  // namespace metalbench

// Entry points have no namespace: `// dispatch:` lines name them.
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void project(
    device const float* from, device const float* weight, device const float* bias,
    device float* inputs, constant uint& steps, constant uint& batch, constant uint& width,
    constant uint& hidden, constant uint& direction, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const uint rows = steps * batch, features = kGateRows * hidden;
  const Layer layer = {from, weight, rows, width, features};
  layer.store(inputs + ulong(direction) * rows * features, Biased<float>{bias, features}, tile,
              memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void recur(
    device const float* inputs, device const float* weight, device const float* bias,
    device const float* h0, device float* outputs, device float* last_h,
#if LSTM
    device const float* c0, device float* last_c,
#endif
#if DIRECTIONS == 2
    device const float* weight_reverse, device const float* bias_reverse,
#endif
    constant uint& steps, constant uint& batch, constant uint& hidden, constant uint& step_rows,
    constant uint& sequence_rows, constant uint& layer,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup RecurrentMemory memory;
  const uint direction = group.y, first = group.x * sequence_rows;
  const ulong input_row = ulong(direction) * steps * batch + first;
  const ulong state = ulong((layer * DIRECTIONS + direction) * batch + group.x) * hidden;
  SequenceCell cell;
  cell.inputs = inputs + input_row * (kGateRows * hidden);
  cell.outputs = outputs + ulong(first) * (DIRECTIONS * hidden) + direction * hidden;
  cell.h0 = h0 + state;
  cell.last_h = last_h + state;
  cell.hidden = hidden;
  cell.steps = steps;
  cell.step_rows = step_rows;
  cell.is_backwards = direction == 1;
#if LSTM
  threadgroup float cells[kMostUnits];
  cell.cells = cells;
  cell.c0 = c0 + state;
  cell.last_c = last_c + state;
#endif
#if DIRECTIONS == 2
  cell.bias = direction == 0 ? bias : bias_reverse;
  run_steps<TG>(cell, {direction == 0 ? weight : weight_reverse, hidden, hidden}, steps, memory,
                PLACE);
#else
  cell.bias = bias;
  run_steps<TG>(cell, {weight, hidden, hidden}, steps, memory, PLACE);
#endif
}
