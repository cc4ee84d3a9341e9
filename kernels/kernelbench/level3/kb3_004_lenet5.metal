// LeNet-5.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// dispatch: convolve_biased_5_1_0_relu(weight = conv1_weight, bias = conv1_bias, y = a0, height = 32, width = 32, channels = 1, x_pitch = 1, filters = 6, y_pitch = 6, first = 0) threadgroups=(ceil_div(6, BN), ceil_div(784 * batch, BM)) threads=(128)
// dispatch: pool_2_2_0_max(x = a0, y = a1, height = 28, width = 28, to_height = 14, to_width = 14, channels = 6, x_pitch = 6, y_pitch = 6, first = 0) threadgroups=(ceil_div(6, 4 * QUADS), ceil_div(196 * batch, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_5_1_0_relu(x = a1, weight = conv2_weight, bias = conv2_bias, y = a0, height = 14, width = 14, channels = 6, x_pitch = 6, filters = 16, y_pitch = 16, first = 0) threadgroups=(ceil_div(16, BN), ceil_div(100 * batch, BM)) threads=(128)
// dispatch: pool_2_2_0_max(x = a0, y = a1, height = 10, width = 10, to_height = 5, to_width = 5, channels = 16, x_pitch = 16, y_pitch = 16, first = 0) threadgroups=(ceil_div(16, 4 * QUADS), ceil_div(25 * batch, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = fc1_weight, bias = fc1_bias, y = a0, height = 1, width = 1, channels = 400, x_pitch = 400, filters = 120, y_pitch = 120, first = 0) threadgroups=(ceil_div(120, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = fc2_weight, bias = fc2_bias, y = a1, height = 1, width = 1, channels = 120, x_pitch = 120, filters = 84, y_pitch = 84, first = 0) threadgroups=(ceil_div(84, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0(x = a1, weight = fc3_weight, bias = fc3_bias, height = 1, width = 1, channels = 84, x_pitch = 84, filters = classes, y_pitch = classes, first = 0) threadgroups=(ceil_div(classes, BN), ceil_div(batch, BM)) threads=(128)
// scratch: a0 float32 (4704 * batch)
// scratch: a1 float32 (1176 * batch)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8
// tune: ROWS = 4, 2, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/networks.h"

template [[host_name("convolve_biased_5_1_0_relu")]] [[kernel]]
decltype(convolve_biased<5, 1, 0, Identity, Relu>) convolve_biased<5, 1, 0, Identity, Relu>;
template [[host_name("pool_2_2_0_max")]] [[kernel]]
decltype(pool<2, 2, 0, Max, Identity>) pool<2, 2, 0, Max, Identity>;
template [[host_name("convolve_biased_1_1_0_relu")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Relu>) convolve_biased<1, 1, 0, Identity, Relu>;
template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
