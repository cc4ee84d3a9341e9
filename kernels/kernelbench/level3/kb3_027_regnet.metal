// Three stages of two convolutions with batch norms, and maxima.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((height - 2) / 2) + 1
// let: extent2 = ((width - 2) / 2) + 1
// let: extent3 = ((extent1 - 2) / 2) + 1
// let: extent4 = ((extent2 - 2) / 2) + 1
// let: extent5 = ((extent3 - 2) / 2) + 1
// let: extent6 = ((extent4 - 2) / 2) + 1
// dispatch: convolve_biased_moments_3_1_1(weight = feature_extractor_0_0_weight, bias = feature_extractor_0_0_bias, y = a0, channels = 3, x_pitch = 3, filters = unit, y_pitch = unit, first = 0, shares = s0) threadgroups=(ceil_div(unit, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = unit, first = 0) threadgroups=(unit) threads=(JOINED)
// dispatch: normed_convolve_biased_moments_3_1_1_relu(x = a0, x_moments = m0, x_weight = feature_extractor_0_1_weight, x_bias = feature_extractor_0_1_bias, weight = feature_extractor_0_3_weight, bias = feature_extractor_0_3_bias, y = a1, channels = unit, x_pitch = unit, filters = unit, y_pitch = unit, first = 0, shares = s0) threadgroups=(ceil_div(unit, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = unit, first = 0) threadgroups=(unit) threads=(JOINED)
// dispatch: normed_pool_2_2_0_max_relu(x = a1, x_moments = m0, x_weight = feature_extractor_0_4_weight, x_bias = feature_extractor_0_4_bias, y = a0, to_height = extent1, to_width = extent2, channels = unit, x_pitch = unit, y_pitch = unit, first = 0) threadgroups=(ceil_div(unit, 4 * QUADS), ceil_div(batch * extent1 * extent2, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_moments_3_1_1(x = a0, weight = feature_extractor_1_0_weight, bias = feature_extractor_1_0_bias, y = a1, height = extent1, width = extent2, channels = unit, x_pitch = unit, filters = 2 * unit, y_pitch = 2 * unit, first = 0, shares = s0) threadgroups=(ceil_div(2 * unit, BN), ceil_div(batch * extent1 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent2, BM), channels = 2 * unit, first = 0) threadgroups=(2 * unit) threads=(JOINED)
// dispatch: normed_convolve_biased_moments_3_1_1_relu(x = a1, x_moments = m0, x_weight = feature_extractor_1_1_weight, x_bias = feature_extractor_1_1_bias, weight = feature_extractor_1_3_weight, bias = feature_extractor_1_3_bias, y = a0, height = extent1, width = extent2, channels = 2 * unit, x_pitch = 2 * unit, filters = 2 * unit, y_pitch = 2 * unit, first = 0, shares = s0) threadgroups=(ceil_div(2 * unit, BN), ceil_div(batch * extent1 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent2, BM), channels = 2 * unit, first = 0) threadgroups=(2 * unit) threads=(JOINED)
// dispatch: normed_pool_2_2_0_max_relu(x = a0, x_moments = m0, x_weight = feature_extractor_1_4_weight, x_bias = feature_extractor_1_4_bias, y = a1, height = extent1, width = extent2, to_height = extent3, to_width = extent4, channels = 2 * unit, x_pitch = 2 * unit, y_pitch = 2 * unit, first = 0) threadgroups=(ceil_div(2 * unit, 4 * QUADS), ceil_div(batch * extent3 * extent4, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_moments_3_1_1(x = a1, weight = feature_extractor_2_0_weight, bias = feature_extractor_2_0_bias, y = a0, height = extent3, width = extent4, channels = 2 * unit, x_pitch = 2 * unit, filters = 4 * unit, y_pitch = 4 * unit, first = 0, shares = s0) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent3 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent3 * extent4, BM), channels = 4 * unit, first = 0) threadgroups=(4 * unit) threads=(JOINED)
// dispatch: normed_convolve_biased_moments_3_1_1_relu(x = a0, x_moments = m0, x_weight = feature_extractor_2_1_weight, x_bias = feature_extractor_2_1_bias, weight = feature_extractor_2_3_weight, bias = feature_extractor_2_3_bias, y = a1, height = extent3, width = extent4, channels = 4 * unit, x_pitch = 4 * unit, filters = 4 * unit, y_pitch = 4 * unit, first = 0, shares = s0) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent3 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent3 * extent4, BM), channels = 4 * unit, first = 0) threadgroups=(4 * unit) threads=(JOINED)
// dispatch: normed_pool_2_2_0_max_relu(x = a1, x_moments = m0, x_weight = feature_extractor_2_4_weight, x_bias = feature_extractor_2_4_bias, y = a0, height = extent3, width = extent4, to_height = extent5, to_width = extent6, channels = 4 * unit, x_pitch = 4 * unit, y_pitch = 4 * unit, first = 0) threadgroups=(ceil_div(4 * unit, 4 * QUADS), ceil_div(batch * extent5 * extent6, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: average(x = a0, y = a1, pixels = extent5 * extent6, channels = 4 * unit, x_pitch = 4 * unit) threadgroups=(ceil_div(4 * unit, 4 * QUADS), batch) threads=(QUADS, DOWN)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_biased_1_1_0(x = a1, weight = fc_weight, bias = fc_bias, height = 1, width = 1, channels = 4 * unit, x_pitch = 4 * unit, filters = classes, y_pitch = classes, first = 0) threadgroups=(ceil_div(classes, BN), ceil_div(batch, BM)) threads=(128)
// scratch: a0 float32 (max(batch * height * unit * width, max(2 * batch * extent1 * extent2 * unit, 4 * batch * extent3 * extent4 * unit)))
// scratch: s0 float32 (max(4 * ceil_div(batch * height * width, BM) * unit, max(8 * ceil_div(batch * extent1 * extent2, BM) * unit, 16 * ceil_div(batch * extent3 * extent4, BM) * unit)))
// scratch: m0 float32 (8 * unit)
// scratch: a1 float32 (max(batch * height * unit * width, max(2 * batch * extent1 * extent2 * unit, 4 * batch * extent3 * extent4 * unit)))
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8
// tune: ROWS = 4, 2, 8
// tune: JOINED = 64, 32, 128
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/networks.h"

template [[host_name("convolve_biased_moments_3_1_1")]] [[kernel]]
decltype(convolve_biased_moments<3, 1, 1, Identity>) convolve_biased_moments<3, 1, 1, Identity>;
template [[host_name("normed_convolve_biased_moments_3_1_1_relu")]] [[kernel]]
decltype(normed_convolve_biased_moments<3, 1, 1, Relu>) normed_convolve_biased_moments<3, 1, 1, Relu>;
template [[host_name("normed_pool_2_2_0_max_relu")]] [[kernel]]
decltype(normed_pool<2, 2, 0, Max, Relu>) normed_pool<2, 2, 0, Max, Relu>;
template [[host_name("average")]] [[kernel]]
decltype(average<Identity>) average<Identity>;
template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
