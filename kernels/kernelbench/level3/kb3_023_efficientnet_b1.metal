// EfficientNet-B1 of seven blocks without gates; channels are multiples of `unit`.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((side - 1) / 2) + 1
// let: extent2 = ((extent1 - 1) / 2) + 1
// let: extent3 = ((extent2 - 1) / 2) + 1
// let: extent4 = ((extent3 - 1) / 2) + 1
// let: extent5 = ((extent4 - 1) / 2) + 1
// dispatch: convolve_moments_3_2_1(weight = conv1_weight, y = a0, height = side, width = side, channels = 3, x_pitch = 3, filters = 4 * unit, y_pitch = 4 * unit, first = 0, shares = s0) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, BM), channels = 4 * unit, first = 0) threadgroups=(4 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu(x = a0, x_moments = m0, x_weight = bn1_weight, x_bias = bn1_bias, weight = mbconv1_0_weight, y = a1, height = extent1, width = extent1, channels = 4 * unit, x_pitch = 4 * unit, filters = 4 * unit, y_pitch = 4 * unit, first = 0, shares = s0) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, BM), channels = 4 * unit, first = 0) threadgroups=(4 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_1_1_relu6(x = a1, x_moments = m0, x_weight = mbconv1_1_weight, x_bias = mbconv1_1_bias, weight = mbconv1_3_weight, y = a0, height = extent1, width = extent1, to_height = extent1, to_width = extent1, channels = 4 * unit, x_pitch = 4 * unit, y_pitch = 4 * unit, first = 0, shares = s0) threadgroups=(ceil_div(4 * unit, 4 * QUADS), ceil_div(batch * extent1 * extent1, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, ROWS * DOWN), channels = 4 * unit, first = 0) threadgroups=(4 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu6(x = a0, x_moments = m0, x_weight = mbconv1_4_weight, x_bias = mbconv1_4_bias, weight = mbconv1_6_weight, y = a1, height = extent1, width = extent1, channels = 4 * unit, x_pitch = 4 * unit, filters = 2 * unit, y_pitch = 2 * unit, first = 0, shares = s0) threadgroups=(ceil_div(2 * unit, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, BM), channels = 2 * unit, first = 0) threadgroups=(2 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a1, x_moments = m0, x_weight = mbconv1_7_weight, x_bias = mbconv1_7_bias, weight = mbconv2_0_weight, y = a0, height = extent1, width = extent1, channels = 2 * unit, x_pitch = 2 * unit, filters = 12 * unit, y_pitch = 12 * unit, first = 0, shares = s0) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, BM), channels = 12 * unit, first = 0) threadgroups=(12 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_2_1_relu6(x = a0, x_moments = m0, x_weight = mbconv2_1_weight, x_bias = mbconv2_1_bias, weight = mbconv2_3_weight, y = a1, height = extent1, width = extent1, to_height = extent2, to_width = extent2, channels = 12 * unit, x_pitch = 12 * unit, y_pitch = 12 * unit, first = 0, shares = s0) threadgroups=(ceil_div(12 * unit, 4 * QUADS), ceil_div(batch * extent2 * extent2, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent2 * extent2, ROWS * DOWN), channels = 12 * unit, first = 0) threadgroups=(12 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu6(x = a1, x_moments = m0, x_weight = mbconv2_4_weight, x_bias = mbconv2_4_bias, weight = mbconv2_6_weight, y = a0, height = extent2, width = extent2, channels = 12 * unit, x_pitch = 12 * unit, filters = 3 * unit, y_pitch = 3 * unit, first = 0, shares = s0) threadgroups=(ceil_div(3 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent2 * extent2, BM), channels = 3 * unit, first = 0) threadgroups=(3 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a0, x_moments = m0, x_weight = mbconv2_7_weight, x_bias = mbconv2_7_bias, weight = mbconv3_0_weight, y = a1, height = extent2, width = extent2, channels = 3 * unit, x_pitch = 3 * unit, filters = 18 * unit, y_pitch = 18 * unit, first = 0, shares = s0) threadgroups=(ceil_div(18 * unit, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent2 * extent2, BM), channels = 18 * unit, first = 0) threadgroups=(18 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_2_1_relu6(x = a1, x_moments = m0, x_weight = mbconv3_1_weight, x_bias = mbconv3_1_bias, weight = mbconv3_3_weight, y = a0, height = extent2, width = extent2, to_height = extent3, to_width = extent3, channels = 18 * unit, x_pitch = 18 * unit, y_pitch = 18 * unit, first = 0, shares = s0) threadgroups=(ceil_div(18 * unit, 4 * QUADS), ceil_div(batch * extent3 * extent3, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent3 * extent3, ROWS * DOWN), channels = 18 * unit, first = 0) threadgroups=(18 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu6(x = a0, x_moments = m0, x_weight = mbconv3_4_weight, x_bias = mbconv3_4_bias, weight = mbconv3_6_weight, y = a1, height = extent3, width = extent3, channels = 18 * unit, x_pitch = 18 * unit, filters = 5 * unit, y_pitch = 5 * unit, first = 0, shares = s0) threadgroups=(ceil_div(5 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent3 * extent3, BM), channels = 5 * unit, first = 0) threadgroups=(5 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a1, x_moments = m0, x_weight = mbconv3_7_weight, x_bias = mbconv3_7_bias, weight = mbconv4_0_weight, y = a0, height = extent3, width = extent3, channels = 5 * unit, x_pitch = 5 * unit, filters = 30 * unit, y_pitch = 30 * unit, first = 0, shares = s0) threadgroups=(ceil_div(30 * unit, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent3 * extent3, BM), channels = 30 * unit, first = 0) threadgroups=(30 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_2_1_relu6(x = a0, x_moments = m0, x_weight = mbconv4_1_weight, x_bias = mbconv4_1_bias, weight = mbconv4_3_weight, y = a1, height = extent3, width = extent3, to_height = extent4, to_width = extent4, channels = 30 * unit, x_pitch = 30 * unit, y_pitch = 30 * unit, first = 0, shares = s0) threadgroups=(ceil_div(30 * unit, 4 * QUADS), ceil_div(batch * extent4 * extent4, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, ROWS * DOWN), channels = 30 * unit, first = 0) threadgroups=(30 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu6(x = a1, x_moments = m0, x_weight = mbconv4_4_weight, x_bias = mbconv4_4_bias, weight = mbconv4_6_weight, y = a0, height = extent4, width = extent4, channels = 30 * unit, x_pitch = 30 * unit, filters = 10 * unit, y_pitch = 10 * unit, first = 0, shares = s0) threadgroups=(ceil_div(10 * unit, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, BM), channels = 10 * unit, first = 0) threadgroups=(10 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a0, x_moments = m0, x_weight = mbconv4_7_weight, x_bias = mbconv4_7_bias, weight = mbconv5_0_weight, y = a1, height = extent4, width = extent4, channels = 10 * unit, x_pitch = 10 * unit, filters = 60 * unit, y_pitch = 60 * unit, first = 0, shares = s0) threadgroups=(ceil_div(60 * unit, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, BM), channels = 60 * unit, first = 0) threadgroups=(60 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_1_1_relu6(x = a1, x_moments = m0, x_weight = mbconv5_1_weight, x_bias = mbconv5_1_bias, weight = mbconv5_3_weight, y = a0, height = extent4, width = extent4, to_height = extent4, to_width = extent4, channels = 60 * unit, x_pitch = 60 * unit, y_pitch = 60 * unit, first = 0, shares = s0) threadgroups=(ceil_div(60 * unit, 4 * QUADS), ceil_div(batch * extent4 * extent4, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, ROWS * DOWN), channels = 60 * unit, first = 0) threadgroups=(60 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu6(x = a0, x_moments = m0, x_weight = mbconv5_4_weight, x_bias = mbconv5_4_bias, weight = mbconv5_6_weight, y = a1, height = extent4, width = extent4, channels = 60 * unit, x_pitch = 60 * unit, filters = 14 * unit, y_pitch = 14 * unit, first = 0, shares = s0) threadgroups=(ceil_div(14 * unit, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, BM), channels = 14 * unit, first = 0) threadgroups=(14 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a1, x_moments = m0, x_weight = mbconv5_7_weight, x_bias = mbconv5_7_bias, weight = mbconv6_0_weight, y = a0, height = extent4, width = extent4, channels = 14 * unit, x_pitch = 14 * unit, filters = 84 * unit, y_pitch = 84 * unit, first = 0, shares = s0) threadgroups=(ceil_div(84 * unit, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, BM), channels = 84 * unit, first = 0) threadgroups=(84 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_2_1_relu6(x = a0, x_moments = m0, x_weight = mbconv6_1_weight, x_bias = mbconv6_1_bias, weight = mbconv6_3_weight, y = a1, height = extent4, width = extent4, to_height = extent5, to_width = extent5, channels = 84 * unit, x_pitch = 84 * unit, y_pitch = 84 * unit, first = 0, shares = s0) threadgroups=(ceil_div(84 * unit, 4 * QUADS), ceil_div(batch * extent5 * extent5, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, ROWS * DOWN), channels = 84 * unit, first = 0) threadgroups=(84 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu6(x = a1, x_moments = m0, x_weight = mbconv6_4_weight, x_bias = mbconv6_4_bias, weight = mbconv6_6_weight, y = a0, height = extent5, width = extent5, channels = 84 * unit, x_pitch = 84 * unit, filters = 24 * unit, y_pitch = 24 * unit, first = 0, shares = s0) threadgroups=(ceil_div(24 * unit, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, BM), channels = 24 * unit, first = 0) threadgroups=(24 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a0, x_moments = m0, x_weight = mbconv6_7_weight, x_bias = mbconv6_7_bias, weight = mbconv7_0_weight, y = a1, height = extent5, width = extent5, channels = 24 * unit, x_pitch = 24 * unit, filters = 144 * unit, y_pitch = 144 * unit, first = 0, shares = s0) threadgroups=(ceil_div(144 * unit, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, BM), channels = 144 * unit, first = 0) threadgroups=(144 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_1_1_relu6(x = a1, x_moments = m0, x_weight = mbconv7_1_weight, x_bias = mbconv7_1_bias, weight = mbconv7_3_weight, y = a0, height = extent5, width = extent5, to_height = extent5, to_width = extent5, channels = 144 * unit, x_pitch = 144 * unit, y_pitch = 144 * unit, first = 0, shares = s0) threadgroups=(ceil_div(144 * unit, 4 * QUADS), ceil_div(batch * extent5 * extent5, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, ROWS * DOWN), channels = 144 * unit, first = 0) threadgroups=(144 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu6(x = a0, x_moments = m0, x_weight = mbconv7_4_weight, x_bias = mbconv7_4_bias, weight = mbconv7_6_weight, y = a1, height = extent5, width = extent5, channels = 144 * unit, x_pitch = 144 * unit, filters = 40 * unit, y_pitch = 40 * unit, first = 0, shares = s0) threadgroups=(ceil_div(40 * unit, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, BM), channels = 40 * unit, first = 0) threadgroups=(40 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a1, x_moments = m0, x_weight = mbconv7_7_weight, x_bias = mbconv7_7_bias, weight = conv2_weight, y = a0, height = extent5, width = extent5, channels = 40 * unit, x_pitch = 40 * unit, filters = 160 * unit, y_pitch = 160 * unit, first = 0, shares = s0) threadgroups=(ceil_div(160 * unit, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, BM), channels = 160 * unit, first = 0) threadgroups=(160 * unit) threads=(JOINED)
// dispatch: normed_average_relu(x = a0, x_moments = m0, x_weight = bn2_weight, x_bias = bn2_bias, y = a1, pixels = extent5 * extent5, channels = 160 * unit, x_pitch = 160 * unit) threadgroups=(ceil_div(160 * unit, 4 * QUADS), batch) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0(x = a1, weight = fc_weight, bias = fc_bias, height = 1, width = 1, channels = 160 * unit, x_pitch = 160 * unit, filters = classes, y_pitch = classes, first = 0) threadgroups=(ceil_div(classes, BN), ceil_div(batch, BM)) threads=(128)
// scratch: a0 float32 (max(max(12 * batch * extent1 * extent1 * unit, 30 * batch * extent3 * extent3 * unit), max(84 * batch * extent4 * extent4 * unit, 160 * batch * extent5 * extent5 * unit)))
// scratch: s0 float32 (max(max(max(48 * ceil_div(batch * extent1 * extent1, BM) * unit, 72 * ceil_div(batch * extent2 * extent2, BM) * unit), max(16 * ceil_div(batch * extent1 * extent1, ROWS * DOWN) * unit, max(48 * ceil_div(batch * extent2 * extent2, ROWS * DOWN) * unit, 120 * ceil_div(batch * extent3 * extent3, BM) * unit))), max(max(336 * ceil_div(batch * extent4 * extent4, BM) * unit, 72 * ceil_div(batch * extent3 * extent3, ROWS * DOWN) * unit), max(240 * ceil_div(batch * extent4 * extent4, ROWS * DOWN) * unit, max(640 * ceil_div(batch * extent5 * extent5, BM) * unit, 576 * ceil_div(batch * extent5 * extent5, ROWS * DOWN) * unit)))))
// scratch: m0 float32 (320 * unit)
// scratch: a1 float32 (max(max(18 * batch * extent2 * extent2 * unit, 4 * batch * extent1 * extent1 * unit), max(60 * batch * extent4 * extent4 * unit, max(144 * batch * extent5 * extent5 * unit, 160 * batch * unit))))
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

template [[host_name("convolve_moments_3_2_1")]] [[kernel]]
decltype(convolve_moments<3, 2, 1, Identity>) convolve_moments<3, 2, 1, Identity>;
template [[host_name("normed_convolve_moments_1_1_0_relu")]] [[kernel]]
decltype(normed_convolve_moments<1, 1, 0, Relu>) normed_convolve_moments<1, 1, 0, Relu>;
template [[host_name("normed_depthwise_moments_3_1_1_relu6")]] [[kernel]]
decltype(normed_depthwise_moments<3, 1, 1, Relu6>) normed_depthwise_moments<3, 1, 1, Relu6>;
template [[host_name("normed_convolve_moments_1_1_0_relu6")]] [[kernel]]
decltype(normed_convolve_moments<1, 1, 0, Relu6>) normed_convolve_moments<1, 1, 0, Relu6>;
template [[host_name("normed_convolve_moments_1_1_0")]] [[kernel]]
decltype(normed_convolve_moments<1, 1, 0, Identity>) normed_convolve_moments<1, 1, 0, Identity>;
template [[host_name("normed_depthwise_moments_3_2_1_relu6")]] [[kernel]]
decltype(normed_depthwise_moments<3, 2, 1, Relu6>) normed_depthwise_moments<3, 2, 1, Relu6>;
template [[host_name("normed_average_relu")]] [[kernel]]
decltype(normed_average<Relu>) normed_average<Relu>;
template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
