// Six GRU layers: all outputs. A layer is a product of the inputs of all steps and one dispatch for
// all its steps: a threadgroup for each sequence, whose state never leaves its memory
// (metalbench/recurrent_dispatches.h).
// let: step_rows = batch
// let: sequence_rows = 1
// dispatch: project(from = x, weight = gru_weight_ih_l0, bias = gru_bias_ih_l0, width = inner, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l0, bias = gru_bias_hh_l0, layer = 0)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l1, bias = gru_bias_ih_l1, width = hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l1, bias = gru_bias_hh_l1, layer = 1)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l2, bias = gru_bias_ih_l2, width = hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l2, bias = gru_bias_hh_l2, layer = 2)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l3, bias = gru_bias_ih_l3, width = hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l3, bias = gru_bias_hh_l3, layer = 3)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l4, bias = gru_bias_ih_l4, width = hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l4, bias = gru_bias_hh_l4, layer = 4)  threadgroups=(batch, 1)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l5, bias = gru_bias_ih_l5, width = hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l5, bias = gru_bias_hh_l5, outputs = y, layer = 5)  threadgroups=(batch, 1)  threads=(TG)
// scratch: inputs float32 (steps * batch, 3 * hidden)
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
#define LSTM 0
#define DIRECTIONS 1
#include "metalbench/recurrent_dispatches.h"
