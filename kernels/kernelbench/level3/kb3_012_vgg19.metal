// VGG-19, its first stage `filters` wide.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((side - 2) / 2) + 1
// let: extent2 = ((extent1 - 2) / 2) + 1
// let: extent3 = ((extent2 - 2) / 2) + 1
// let: extent4 = ((extent3 - 2) / 2) + 1
// let: extent5 = ((extent4 - 2) / 2) + 1
// dispatch: convolve_biased_3_1_1_relu(weight = features_0_weight, bias = features_0_bias, y = a0, height = side, width = side, channels = 3, x_pitch = 3, y_pitch = filters, first = 0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * side * side, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_2_weight, bias = features_2_bias, y = a1, height = side, width = side, channels = filters, x_pitch = filters, y_pitch = filters, first = 0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * side * side, BM)) threads=(128)
// dispatch: pool_2_2_0_max(x = a1, y = a0, height = side, width = side, to_height = extent1, to_width = extent1, channels = filters, x_pitch = filters, y_pitch = filters, first = 0) threadgroups=(ceil_div(filters, 4 * QUADS), ceil_div(batch * extent1 * extent1, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_5_weight, bias = features_5_bias, y = a1, height = extent1, width = extent1, channels = filters, x_pitch = filters, filters = 2 * filters, y_pitch = 2 * filters, first = 0) threadgroups=(ceil_div(2 * filters, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_7_weight, bias = features_7_bias, y = a0, height = extent1, width = extent1, channels = 2 * filters, x_pitch = 2 * filters, filters = 2 * filters, y_pitch = 2 * filters, first = 0) threadgroups=(ceil_div(2 * filters, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: pool_2_2_0_max(x = a0, y = a1, height = extent1, width = extent1, to_height = extent2, to_width = extent2, channels = 2 * filters, x_pitch = 2 * filters, y_pitch = 2 * filters, first = 0) threadgroups=(ceil_div(2 * filters, 4 * QUADS), ceil_div(batch * extent2 * extent2, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_10_weight, bias = features_10_bias, y = a0, height = extent2, width = extent2, channels = 2 * filters, x_pitch = 2 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_12_weight, bias = features_12_bias, y = a1, height = extent2, width = extent2, channels = 4 * filters, x_pitch = 4 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_14_weight, bias = features_14_bias, y = a0, height = extent2, width = extent2, channels = 4 * filters, x_pitch = 4 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_16_weight, bias = features_16_bias, y = a1, height = extent2, width = extent2, channels = 4 * filters, x_pitch = 4 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: pool_2_2_0_max(x = a1, y = a0, height = extent2, width = extent2, to_height = extent3, to_width = extent3, channels = 4 * filters, x_pitch = 4 * filters, y_pitch = 4 * filters, first = 0) threadgroups=(ceil_div(4 * filters, 4 * QUADS), ceil_div(batch * extent3 * extent3, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_19_weight, bias = features_19_bias, y = a1, height = extent3, width = extent3, channels = 4 * filters, x_pitch = 4 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_21_weight, bias = features_21_bias, y = a0, height = extent3, width = extent3, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_23_weight, bias = features_23_bias, y = a1, height = extent3, width = extent3, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_25_weight, bias = features_25_bias, y = a0, height = extent3, width = extent3, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: pool_2_2_0_max(x = a0, y = a1, height = extent3, width = extent3, to_height = extent4, to_width = extent4, channels = 8 * filters, x_pitch = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, 4 * QUADS), ceil_div(batch * extent4 * extent4, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_28_weight, bias = features_28_bias, y = a0, height = extent4, width = extent4, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_30_weight, bias = features_30_bias, y = a1, height = extent4, width = extent4, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_32_weight, bias = features_32_bias, y = a0, height = extent4, width = extent4, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_34_weight, bias = features_34_bias, y = a1, height = extent4, width = extent4, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: pool_2_2_0_max(x = a1, y = a0, height = extent4, width = extent4, to_height = extent5, to_width = extent5, channels = 8 * filters, x_pitch = 8 * filters, y_pitch = 8 * filters, first = 0) threadgroups=(ceil_div(8 * filters, 4 * QUADS), ceil_div(batch * extent5 * extent5, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = classifier_0_weight, bias = classifier_0_bias, y = a1, height = 1, width = 1, channels = 8 * extent5 * extent5 * filters, x_pitch = 8 * extent5 * extent5 * filters, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = classifier_3_weight, bias = classifier_3_bias, y = a0, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = hidden, y_pitch = hidden, first = 0) threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0(x = a0, weight = classifier_6_weight, bias = classifier_6_bias, height = 1, width = 1, channels = hidden, x_pitch = hidden, filters = classes, y_pitch = classes, first = 0) threadgroups=(ceil_div(classes, BN), ceil_div(batch, BM)) threads=(128)
// scratch: a0 float32 (max(max(batch * filters * side * side, 2 * batch * extent1 * extent1 * filters), max(4 * batch * extent2 * extent2 * filters, max(8 * batch * extent3 * extent3 * filters, batch * hidden))))
// scratch: a1 float32 (max(max(batch * filters * side * side, 2 * batch * extent1 * extent1 * filters), max(4 * batch * extent2 * extent2 * filters, max(8 * batch * extent3 * extent3 * filters, batch * hidden))))
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

template [[host_name("convolve_biased_3_1_1_relu")]] [[kernel]]
decltype(convolve_biased<3, 1, 1, Identity, Relu>) convolve_biased<3, 1, 1, Identity, Relu>;
template [[host_name("pool_2_2_0_max")]] [[kernel]]
decltype(pool<2, 2, 0, Max, Identity>) pool<2, 2, 0, Max, Identity>;
template [[host_name("convolve_biased_1_1_0_relu")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Relu>) convolve_biased<1, 1, 0, Identity, Relu>;
template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
