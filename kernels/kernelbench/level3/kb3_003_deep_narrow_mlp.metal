// Seventeen narrow linear layers, ReLU between.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// dispatch: convolve_biased_1_1_0_relu(weight = network_0_weight, bias = network_0_bias, y = a0, height = 1, width = 1, channels = inner, x_pitch = inner, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = network_2_weight, bias = network_2_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = network_4_weight, bias = network_4_bias, y = a0, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = network_6_weight, bias = network_6_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = network_8_weight, bias = network_8_bias, y = a0, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = network_10_weight, bias = network_10_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = network_12_weight, bias = network_12_bias, y = a0, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = network_14_weight, bias = network_14_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = network_16_weight, bias = network_16_bias, y = a0, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = network_18_weight, bias = network_18_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = network_20_weight, bias = network_20_bias, y = a0, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = network_22_weight, bias = network_22_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = network_24_weight, bias = network_24_bias, y = a0, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = network_26_weight, bias = network_26_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = network_28_weight, bias = network_28_bias, y = a0, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = network_30_weight, bias = network_30_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0(x = a1, weight = network_32_weight, bias = network_32_bias, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = features, y_pitch = features, first = 0) threadgroups=(ceil_div(features, BN), ceil_div(batch, BM)) threads=(128)
// scratch: a0 float32 (batch * hidden)
// scratch: a1 float32 (batch * hidden)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/networks.h"

template [[host_name("convolve_biased_1_1_0_relu")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Relu>) convolve_biased<1, 1, 0, Identity, Relu>;
template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
