// Six LSTM layers: every layer's final cell state. A layer is a product of the inputs of all steps
// and one dispatch for all its steps: a threadgroup for each sequence, whose state never leaves its
// memory (metalbench/recurrent_dispatches.h).
// let: step_rows = 1
// let: sequence_rows = steps
// dispatch: project(from = x, weight = lstm_weight_ih_l0, bias = lstm_bias_ih_l0, width = inner, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l0, bias = lstm_bias_hh_l0, last_c = y, layer = 0)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l1, bias = lstm_bias_ih_l1, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l1, bias = lstm_bias_hh_l1, last_c = y, layer = 1)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l2, bias = lstm_bias_ih_l2, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l2, bias = lstm_bias_hh_l2, last_c = y, layer = 2)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l3, bias = lstm_bias_ih_l3, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l3, bias = lstm_bias_hh_l3, last_c = y, layer = 3)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l4, bias = lstm_bias_ih_l4, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l4, bias = lstm_bias_hh_l4, last_c = y, layer = 4)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = lstm_weight_ih_l5, bias = lstm_bias_ih_l5, width = hidden, direction = 0)  threadgroups=(ceil_div(4 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = lstm_weight_hh_l5, bias = lstm_bias_hh_l5, last_c = y, layer = 5)  threadgroups=(batch, 1)  threads=(TG)
// scratch: inputs float32 (steps * batch, 4 * hidden)
// scratch: outputs float32 (steps * batch, hidden)
// scratch: last_h float32 (6, batch, hidden)
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
#include "metalbench/recurrent_dispatches.h"
