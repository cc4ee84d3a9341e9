// AlexNet; channels are multiples of `unit`.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((side - 7) / 4) + 1
// let: extent2 = ((extent1 - 3) / 2) + 1
// let: extent3 = ((extent2 - 3) / 2) + 1
// let: extent4 = ((extent3 - 3) / 2) + 1
// dispatch: convolve_biased_11_4_2_relu(weight = conv1_weight, bias = conv1_bias, y = a0, height = side, width = side, channels = 3, x_pitch = 3, filters = 3 * unit, y_pitch = 3 * unit, first = 0) threadgroups=(ceil_div(3 * unit, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: pool_3_2_0_max(x = a0, y = a1, height = extent1, width = extent1, to_height = extent2, to_width = extent2, channels = 3 * unit, x_pitch = 3 * unit, y_pitch = 3 * unit, first = 0) threadgroups=(ceil_div(3 * unit, 4 * QUADS), ceil_div(batch * extent2 * extent2, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_5_1_2_relu(x = a1, weight = conv2_weight, bias = conv2_bias, y = a0, height = extent2, width = extent2, channels = 3 * unit, x_pitch = 3 * unit, filters = 8 * unit, y_pitch = 8 * unit, first = 0) threadgroups=(ceil_div(8 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: pool_3_2_0_max(x = a0, y = a1, height = extent2, width = extent2, to_height = extent3, to_width = extent3, channels = 8 * unit, x_pitch = 8 * unit, y_pitch = 8 * unit, first = 0) threadgroups=(ceil_div(8 * unit, 4 * QUADS), ceil_div(batch * extent3 * extent3, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = conv3_weight, bias = conv3_bias, y = a0, height = extent3, width = extent3, channels = 8 * unit, x_pitch = 8 * unit, filters = 12 * unit, y_pitch = 12 * unit, first = 0) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = conv4_weight, bias = conv4_bias, y = a1, height = extent3, width = extent3, channels = 12 * unit, x_pitch = 12 * unit, filters = 12 * unit, y_pitch = 12 * unit, first = 0) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = conv5_weight, bias = conv5_bias, y = a0, height = extent3, width = extent3, channels = 12 * unit, x_pitch = 12 * unit, filters = 8 * unit, y_pitch = 8 * unit, first = 0) threadgroups=(ceil_div(8 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: pool_3_2_0_max(x = a0, y = a1, height = extent3, width = extent3, to_height = extent4, to_width = extent4, channels = 8 * unit, x_pitch = 8 * unit, y_pitch = 8 * unit, first = 0) threadgroups=(ceil_div(8 * unit, 4 * QUADS), ceil_div(batch * extent4 * extent4, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = fc1_weight, bias = fc1_bias, y = a0, height = 1, width = 1, channels = 8 * extent4 * extent4 * unit, x_pitch = 8 * extent4 * extent4 * unit, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = fc2_weight, bias = fc2_bias, y = a1, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0(x = a1, weight = fc3_weight, bias = fc3_bias, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = classes, y_pitch = classes, first = 0) threadgroups=(ceil_div(classes, BN), ceil_div(batch, BM)) threads=(128)
// scratch: a0 float32 (max(max(3 * batch * extent1 * extent1 * unit, 8 * batch * extent2 * extent2 * unit), max(12 * batch * extent3 * extent3 * unit, batch * hidden)))
// scratch: a1 float32 (max(3 * batch * extent2 * extent2 * unit, max(12 * batch * extent3 * extent3 * unit, batch * hidden)))
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

template [[host_name("convolve_biased_11_4_2_relu")]] [[kernel]]
decltype(convolve_biased<11, 4, 2, Identity, Relu>) convolve_biased<11, 4, 2, Identity, Relu>;
template [[host_name("pool_3_2_0_max")]] [[kernel]]
decltype(pool<3, 2, 0, Max, Identity>) pool<3, 2, 0, Max, Identity>;
template [[host_name("convolve_biased_5_1_2_relu")]] [[kernel]]
decltype(convolve_biased<5, 1, 2, Identity, Relu>) convolve_biased<5, 1, 2, Identity, Relu>;
template [[host_name("convolve_biased_3_1_1_relu")]] [[kernel]]
decltype(convolve_biased<3, 1, 1, Identity, Relu>) convolve_biased<3, 1, 1, Identity, Relu>;
template [[host_name("convolve_biased_1_1_0_relu")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Relu>) convolve_biased<1, 1, 0, Identity, Relu>;
template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
