// SqueezeNet; channels are multiples of `unit`.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((side - 7) / 2) + 1
// let: extent2 = ((extent1 - 2) / 2) + 1
// let: extent3 = ((extent2 - 2) / 2) + 1
// let: extent4 = ((extent3 - 2) / 2) + 1
// dispatch: convolve_biased_7_2_0_relu(weight = features_0_weight, bias = features_0_bias, y = a0, height = side, width = side, channels = 3, x_pitch = 3, filters = 6 * unit, y_pitch = 6 * unit, first = 0) threadgroups=(ceil_div(6 * unit, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: pool_3_2_0_max(x = a0, y = a1, height = extent1, width = extent1, to_height = extent2, to_width = extent2, channels = 6 * unit, x_pitch = 6 * unit, y_pitch = 6 * unit, first = 0) threadgroups=(ceil_div(6 * unit, 4 * QUADS), ceil_div(batch * extent2 * extent2, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = features_3_squeeze_weight, bias = features_3_squeeze_bias, y = a0, height = extent2, width = extent2, channels = 6 * unit, x_pitch = 6 * unit, filters = unit, y_pitch = unit, first = 0) threadgroups=(ceil_div(unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = features_3_expand1x1_weight, bias = features_3_expand1x1_bias, y = a1, height = extent2, width = extent2, channels = unit, x_pitch = unit, filters = 4 * unit, y_pitch = 8 * unit, first = 0) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_3_expand3x3_weight, bias = features_3_expand3x3_bias, y = a1, height = extent2, width = extent2, channels = unit, x_pitch = unit, filters = 4 * unit, y_pitch = 8 * unit, first = 4 * unit) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = features_4_squeeze_weight, bias = features_4_squeeze_bias, y = a0, height = extent2, width = extent2, channels = 8 * unit, x_pitch = 8 * unit, filters = unit, y_pitch = unit, first = 0) threadgroups=(ceil_div(unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = features_4_expand1x1_weight, bias = features_4_expand1x1_bias, y = a1, height = extent2, width = extent2, channels = unit, x_pitch = unit, filters = 4 * unit, y_pitch = 8 * unit, first = 0) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_4_expand3x3_weight, bias = features_4_expand3x3_bias, y = a1, height = extent2, width = extent2, channels = unit, x_pitch = unit, filters = 4 * unit, y_pitch = 8 * unit, first = 4 * unit) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = features_5_squeeze_weight, bias = features_5_squeeze_bias, y = a0, height = extent2, width = extent2, channels = 8 * unit, x_pitch = 8 * unit, filters = 2 * unit, y_pitch = 2 * unit, first = 0) threadgroups=(ceil_div(2 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = features_5_expand1x1_weight, bias = features_5_expand1x1_bias, y = a1, height = extent2, width = extent2, channels = 2 * unit, x_pitch = 2 * unit, filters = 8 * unit, y_pitch = 16 * unit, first = 0) threadgroups=(ceil_div(8 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_5_expand3x3_weight, bias = features_5_expand3x3_bias, y = a1, height = extent2, width = extent2, channels = 2 * unit, x_pitch = 2 * unit, filters = 8 * unit, y_pitch = 16 * unit, first = 8 * unit) threadgroups=(ceil_div(8 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: pool_3_2_0_max(x = a1, y = a0, height = extent2, width = extent2, to_height = extent3, to_width = extent3, channels = 16 * unit, x_pitch = 16 * unit, y_pitch = 16 * unit, first = 0) threadgroups=(ceil_div(16 * unit, 4 * QUADS), ceil_div(batch * extent3 * extent3, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = features_7_squeeze_weight, bias = features_7_squeeze_bias, y = a1, height = extent3, width = extent3, channels = 16 * unit, x_pitch = 16 * unit, filters = 2 * unit, y_pitch = 2 * unit, first = 0) threadgroups=(ceil_div(2 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = features_7_expand1x1_weight, bias = features_7_expand1x1_bias, y = a0, height = extent3, width = extent3, channels = 2 * unit, x_pitch = 2 * unit, filters = 8 * unit, y_pitch = 16 * unit, first = 0) threadgroups=(ceil_div(8 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_7_expand3x3_weight, bias = features_7_expand3x3_bias, y = a0, height = extent3, width = extent3, channels = 2 * unit, x_pitch = 2 * unit, filters = 8 * unit, y_pitch = 16 * unit, first = 8 * unit) threadgroups=(ceil_div(8 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = features_8_squeeze_weight, bias = features_8_squeeze_bias, y = a1, height = extent3, width = extent3, channels = 16 * unit, x_pitch = 16 * unit, filters = 3 * unit, y_pitch = 3 * unit, first = 0) threadgroups=(ceil_div(3 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = features_8_expand1x1_weight, bias = features_8_expand1x1_bias, y = a0, height = extent3, width = extent3, channels = 3 * unit, x_pitch = 3 * unit, filters = 12 * unit, y_pitch = 24 * unit, first = 0) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_8_expand3x3_weight, bias = features_8_expand3x3_bias, y = a0, height = extent3, width = extent3, channels = 3 * unit, x_pitch = 3 * unit, filters = 12 * unit, y_pitch = 24 * unit, first = 12 * unit) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = features_9_squeeze_weight, bias = features_9_squeeze_bias, y = a1, height = extent3, width = extent3, channels = 24 * unit, x_pitch = 24 * unit, filters = 3 * unit, y_pitch = 3 * unit, first = 0) threadgroups=(ceil_div(3 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = features_9_expand1x1_weight, bias = features_9_expand1x1_bias, y = a0, height = extent3, width = extent3, channels = 3 * unit, x_pitch = 3 * unit, filters = 12 * unit, y_pitch = 24 * unit, first = 0) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_9_expand3x3_weight, bias = features_9_expand3x3_bias, y = a0, height = extent3, width = extent3, channels = 3 * unit, x_pitch = 3 * unit, filters = 12 * unit, y_pitch = 24 * unit, first = 12 * unit) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = features_10_squeeze_weight, bias = features_10_squeeze_bias, y = a1, height = extent3, width = extent3, channels = 24 * unit, x_pitch = 24 * unit, filters = 4 * unit, y_pitch = 4 * unit, first = 0) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = features_10_expand1x1_weight, bias = features_10_expand1x1_bias, y = a0, height = extent3, width = extent3, channels = 4 * unit, x_pitch = 4 * unit, filters = 16 * unit, y_pitch = 32 * unit, first = 0) threadgroups=(ceil_div(16 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a1, weight = features_10_expand3x3_weight, bias = features_10_expand3x3_bias, y = a0, height = extent3, width = extent3, channels = 4 * unit, x_pitch = 4 * unit, filters = 16 * unit, y_pitch = 32 * unit, first = 16 * unit) threadgroups=(ceil_div(16 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: pool_3_2_0_max(x = a0, y = a1, height = extent3, width = extent3, to_height = extent4, to_width = extent4, channels = 32 * unit, x_pitch = 32 * unit, y_pitch = 32 * unit, first = 0) threadgroups=(ceil_div(32 * unit, 4 * QUADS), ceil_div(batch * extent4 * extent4, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = features_12_squeeze_weight, bias = features_12_squeeze_bias, y = a0, height = extent4, width = extent4, channels = 32 * unit, x_pitch = 32 * unit, filters = 4 * unit, y_pitch = 4 * unit, first = 0) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = features_12_expand1x1_weight, bias = features_12_expand1x1_bias, y = a1, height = extent4, width = extent4, channels = 4 * unit, x_pitch = 4 * unit, filters = 16 * unit, y_pitch = 32 * unit, first = 0) threadgroups=(ceil_div(16 * unit, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = features_12_expand3x3_weight, bias = features_12_expand3x3_bias, y = a1, height = extent4, width = extent4, channels = 4 * unit, x_pitch = 4 * unit, filters = 16 * unit, y_pitch = 32 * unit, first = 16 * unit) threadgroups=(ceil_div(16 * unit, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a1, weight = classifier_1_weight, bias = classifier_1_bias, y = a0, height = extent4, width = extent4, channels = 32 * unit, x_pitch = 32 * unit, filters = classes, y_pitch = classes, first = 0) threadgroups=(ceil_div(classes, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: average(x = a0, pixels = extent4 * extent4, channels = classes, x_pitch = classes) threadgroups=(ceil_div(classes, 4 * QUADS), batch) threads=(QUADS, DOWN)
// scratch: a0 float32 (max(6 * batch * extent1 * extent1 * unit, max(32 * batch * extent3 * extent3 * unit, batch * classes * extent4 * extent4)))
// scratch: a1 float32 (max(16 * batch * extent2 * extent2 * unit, 32 * batch * extent4 * extent4 * unit))
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

template [[host_name("convolve_biased_7_2_0_relu")]] [[kernel]]
decltype(convolve_biased<7, 2, 0, Identity, Relu>) convolve_biased<7, 2, 0, Identity, Relu>;
template [[host_name("pool_3_2_0_max")]] [[kernel]]
decltype(pool<3, 2, 0, Max, Identity>) pool<3, 2, 0, Max, Identity>;
template [[host_name("convolve_biased_1_1_0_relu")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Relu>) convolve_biased<1, 1, 0, Identity, Relu>;
template [[host_name("convolve_biased_3_1_1_relu")]] [[kernel]]
decltype(convolve_biased<3, 1, 1, Identity, Relu>) convolve_biased<3, 1, 1, Identity, Relu>;
template [[host_name("average")]] [[kernel]]
decltype(average<Identity>) average<Identity>;
