// Six GRU layers in both directions: all outputs. A layer is a product of the inputs of all steps,
// for each direction, and one dispatch for all its steps: a threadgroup for each sequence and
// direction, whose state never leaves its memory (metalbench/recurrent_dispatches.h).
// let: step_rows = batch
// let: sequence_rows = 1
// dispatch: project(from = x, weight = gru_weight_ih_l0, bias = gru_bias_ih_l0, width = inner, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: project(from = x, weight = gru_weight_ih_l0_reverse, bias = gru_bias_ih_l0_reverse, width = inner, direction = 1)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l0, bias = gru_bias_hh_l0, weight_reverse = gru_weight_hh_l0_reverse, bias_reverse = gru_bias_hh_l0_reverse, layer = 0)  threadgroups=(batch, 2)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l1, bias = gru_bias_ih_l1, width = 2 * hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: project(from = outputs, weight = gru_weight_ih_l1_reverse, bias = gru_bias_ih_l1_reverse, width = 2 * hidden, direction = 1)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l1, bias = gru_bias_hh_l1, weight_reverse = gru_weight_hh_l1_reverse, bias_reverse = gru_bias_hh_l1_reverse, layer = 1)  threadgroups=(batch, 2)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l2, bias = gru_bias_ih_l2, width = 2 * hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: project(from = outputs, weight = gru_weight_ih_l2_reverse, bias = gru_bias_ih_l2_reverse, width = 2 * hidden, direction = 1)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l2, bias = gru_bias_hh_l2, weight_reverse = gru_weight_hh_l2_reverse, bias_reverse = gru_bias_hh_l2_reverse, layer = 2)  threadgroups=(batch, 2)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l3, bias = gru_bias_ih_l3, width = 2 * hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: project(from = outputs, weight = gru_weight_ih_l3_reverse, bias = gru_bias_ih_l3_reverse, width = 2 * hidden, direction = 1)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l3, bias = gru_bias_hh_l3, weight_reverse = gru_weight_hh_l3_reverse, bias_reverse = gru_bias_hh_l3_reverse, layer = 3)  threadgroups=(batch, 2)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l4, bias = gru_bias_ih_l4, width = 2 * hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: project(from = outputs, weight = gru_weight_ih_l4_reverse, bias = gru_bias_ih_l4_reverse, width = 2 * hidden, direction = 1)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l4, bias = gru_bias_hh_l4, weight_reverse = gru_weight_hh_l4_reverse, bias_reverse = gru_bias_hh_l4_reverse, layer = 4)  threadgroups=(batch, 2)  threads=(TG)
// dispatch: project(from = outputs, weight = gru_weight_ih_l5, bias = gru_bias_ih_l5, width = 2 * hidden, direction = 0)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: project(from = outputs, weight = gru_weight_ih_l5_reverse, bias = gru_bias_ih_l5_reverse, width = 2 * hidden, direction = 1)  threadgroups=(ceil_div(3 * hidden, BN), ceil_div(steps * batch, BM))  threads=(128)
// dispatch: recur(weight = gru_weight_hh_l5, bias = gru_bias_hh_l5, weight_reverse = gru_weight_hh_l5_reverse, bias_reverse = gru_bias_hh_l5_reverse, outputs = y, layer = 5)  threadgroups=(batch, 2)  threads=(TG)
// scratch: inputs float32 (2 * steps * batch, 3 * hidden)
// scratch: outputs float32 (steps * batch, 2 * hidden)
// scratch: last_h float32 (12, batch, hidden)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// tune: TG = 1024, 512, 256, 32
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2, TG = 32
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
// limits: hidden <= 1024
#define LSTM 0
#define DIRECTIONS 2
#include "metalbench/recurrent_dispatches.h"
