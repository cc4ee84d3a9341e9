// Six LSTM layers, and a linear layer of the last step. A layer is a product of the inputs of all
// steps and one dispatch for all its steps: a threadgroup for each sequence, whose state never leaves
// its memory (metalbench/recurrent_dispatches.h). The answer reads the rows of the last step where
// they are.
// let: step_rows = 1
// let: sequence_rows = steps
// dispatch: project(from = x, weight = lstm_weight_ih_l0, bias = lstm_bias_ih_l0, width = inner, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l0, bias = lstm_bias_hh_l0, layer = 0)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l1, bias = lstm_bias_ih_l1, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l1, bias = lstm_bias_hh_l1, layer = 1)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l2, bias = lstm_bias_ih_l2, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l2, bias = lstm_bias_hh_l2, layer = 2)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l3, bias = lstm_bias_ih_l3, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l3, bias = lstm_bias_hh_l3, layer = 3)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l4, bias = lstm_bias_ih_l4, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l4, bias = lstm_bias_hh_l4, layer = 4)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l5, bias = lstm_bias_ih_l5, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l5, bias = lstm_bias_hh_l5, layer = 5)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: answer  threadgroups=(features, batch)  threads=(32)
// scratch: inputs float32 (steps * batch, 4 * hidden)
// scratch: outputs float32 (steps * batch, hidden)
// scratch: last_h float32 (6, batch, hidden)
// scratch: last_c float32 (6, batch, hidden)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: TG = 1024, 512, 256, 32
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, TG = 32
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// limits: hidden <= 1024
#define LSTM 1
#define DIRECTIONS 1
#include "metalbench/dense.h"
#include "metalbench/recurrent_dispatches.h"

[[kernel]] void answer(device const float* outputs, device const float* fc_weight,
                     device const float* fc_bias, device float* y, constant uint& steps,
                     constant uint& hidden, constant uint& features,
                     uint2 place [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
  const uint width = DIRECTIONS * hidden;
  device const float* last = outputs + ulong((place.y + 1) * steps - 1) * width;
  const float sum = dense_feature(last, fc_weight + place.x * width, width, lane);
  if (lane == 0) {
    y[place.y * features + place.x] = sum + fc_bias[place.x];
  }
}
