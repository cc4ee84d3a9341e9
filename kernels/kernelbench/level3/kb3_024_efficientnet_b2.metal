// EfficientNet-B2 whose gates stand in the way; channels are multiples of `unit`.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((side - 1) / 2) + 1
// dispatch: convolve_moments_3_2_1(weight = conv1_weight, y = a0, height = side, width = side, channels = 3, x_pitch = 3, filters = 2 * unit, y_pitch = 2 * unit, first = 0, shares = s0) threadgroups=(ceil_div(2 * unit, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, BM), channels = 2 * unit, first = 0) threadgroups=(2 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu(x = a0, x_moments = m0, x_weight = bn1_weight, x_bias = bn1_bias, weight = mbconv1_0_weight, y = a1, height = extent1, width = extent1, channels = 2 * unit, x_pitch = 2 * unit, filters = 6 * unit, y_pitch = 6 * unit, first = 0, shares = s0) threadgroups=(ceil_div(6 * unit, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, BM), channels = 6 * unit, first = 0) threadgroups=(6 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_1_1_relu(x = a1, x_moments = m0, x_weight = mbconv1_1_weight, x_bias = mbconv1_1_bias, weight = mbconv1_3_weight, y = a0, height = extent1, width = extent1, to_height = extent1, to_width = extent1, channels = 6 * unit, x_pitch = 6 * unit, y_pitch = 6 * unit, first = 0, shares = s0) threadgroups=(ceil_div(6 * unit, 4 * QUADS), ceil_div(batch * extent1 * extent1, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, ROWS * DOWN), channels = 6 * unit, first = 0) threadgroups=(6 * unit) threads=(JOINED)
// dispatch: normed_average_relu(x = a0, x_moments = m0, x_weight = mbconv1_4_weight, x_bias = mbconv1_4_bias, y = a1, pixels = extent1 * extent1, channels = 6 * unit, x_pitch = 6 * unit) threadgroups=(ceil_div(6 * unit, 4 * QUADS), batch) threads=(QUADS, DOWN)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_1_1_0_relu(x = a1, weight = mbconv1_7_weight, y = a0, height = 1, width = 1, channels = 6 * unit, x_pitch = 6 * unit, filters = ((6 * unit) / 4), y_pitch = ((6 * unit) / 4), first = 0) threadgroups=(ceil_div(((6 * unit) / 4), BN), ceil_div(batch, BM)) threads=(128)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_1_1_0_sigmoid(x = a0, weight = mbconv1_9_weight, y = a1, height = 1, width = 1, channels = ((6 * unit) / 4), x_pitch = ((6 * unit) / 4), filters = 6 * unit, y_pitch = 6 * unit, first = 0) threadgroups=(ceil_div(6 * unit, BN), ceil_div(batch, BM)) threads=(128)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_moments_1_1_0(x = a1, weight = mbconv1_11_weight, y = a0, height = 1, width = 1, channels = 6 * unit, x_pitch = 6 * unit, filters = 6 * unit, y_pitch = 6 * unit, first = 0, shares = s0) threadgroups=(ceil_div(6 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 6 * unit, first = 0) threadgroups=(6 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a0, x_moments = m0, x_weight = mbconv1_12_weight, x_bias = mbconv1_12_bias, weight = mbconv2_0_weight, y = a1, height = 1, width = 1, channels = 6 * unit, x_pitch = 6 * unit, filters = 36 * unit, y_pitch = 36 * unit, first = 0, shares = s0) threadgroups=(ceil_div(36 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 36 * unit, first = 0) threadgroups=(36 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_2_1_relu(x = a1, x_moments = m0, x_weight = mbconv2_1_weight, x_bias = mbconv2_1_bias, weight = mbconv2_3_weight, y = a0, height = 1, width = 1, to_height = 1, to_width = 1, channels = 36 * unit, x_pitch = 36 * unit, y_pitch = 36 * unit, first = 0, shares = s0) threadgroups=(ceil_div(36 * unit, 4 * QUADS), ceil_div(batch, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, ROWS * DOWN), channels = 36 * unit, first = 0) threadgroups=(36 * unit) threads=(JOINED)
// dispatch: normed_average_relu(x = a0, x_moments = m0, x_weight = mbconv2_4_weight, x_bias = mbconv2_4_bias, y = a1, pixels = 1, channels = 36 * unit, x_pitch = 36 * unit) threadgroups=(ceil_div(36 * unit, 4 * QUADS), batch) threads=(QUADS, DOWN)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_1_1_0_relu(x = a1, weight = mbconv2_7_weight, y = a0, height = 1, width = 1, channels = 36 * unit, x_pitch = 36 * unit, filters = 9 * unit, y_pitch = 9 * unit, first = 0) threadgroups=(ceil_div(9 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_1_1_0_sigmoid(x = a0, weight = mbconv2_9_weight, y = a1, height = 1, width = 1, channels = 9 * unit, x_pitch = 9 * unit, filters = 36 * unit, y_pitch = 36 * unit, first = 0) threadgroups=(ceil_div(36 * unit, BN), ceil_div(batch, BM)) threads=(128)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_moments_1_1_0(x = a1, weight = mbconv2_11_weight, y = a0, height = 1, width = 1, channels = 36 * unit, x_pitch = 36 * unit, filters = 9 * unit, y_pitch = 9 * unit, first = 0, shares = s0) threadgroups=(ceil_div(9 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 9 * unit, first = 0) threadgroups=(9 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a0, x_moments = m0, x_weight = mbconv2_12_weight, x_bias = mbconv2_12_bias, weight = mbconv3_0_weight, y = a1, height = 1, width = 1, channels = 9 * unit, x_pitch = 9 * unit, filters = 54 * unit, y_pitch = 54 * unit, first = 0, shares = s0) threadgroups=(ceil_div(54 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 54 * unit, first = 0) threadgroups=(54 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_2_1_relu(x = a1, x_moments = m0, x_weight = mbconv3_1_weight, x_bias = mbconv3_1_bias, weight = mbconv3_3_weight, y = a0, height = 1, width = 1, to_height = 1, to_width = 1, channels = 54 * unit, x_pitch = 54 * unit, y_pitch = 54 * unit, first = 0, shares = s0) threadgroups=(ceil_div(54 * unit, 4 * QUADS), ceil_div(batch, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, ROWS * DOWN), channels = 54 * unit, first = 0) threadgroups=(54 * unit) threads=(JOINED)
// dispatch: normed_average_relu(x = a0, x_moments = m0, x_weight = mbconv3_4_weight, x_bias = mbconv3_4_bias, y = a1, pixels = 1, channels = 54 * unit, x_pitch = 54 * unit) threadgroups=(ceil_div(54 * unit, 4 * QUADS), batch) threads=(QUADS, DOWN)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_1_1_0_relu(x = a1, weight = mbconv3_7_weight, y = a0, height = 1, width = 1, channels = 54 * unit, x_pitch = 54 * unit, filters = ((54 * unit) / 4), y_pitch = ((54 * unit) / 4), first = 0) threadgroups=(ceil_div(((54 * unit) / 4), BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_1_1_0_sigmoid(x = a0, weight = mbconv3_9_weight, y = a1, height = 1, width = 1, channels = ((54 * unit) / 4), x_pitch = ((54 * unit) / 4), filters = 54 * unit, y_pitch = 54 * unit, first = 0) threadgroups=(ceil_div(54 * unit, BN), ceil_div(batch, BM)) threads=(128)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_moments_1_1_0(x = a1, weight = mbconv3_11_weight, y = a0, height = 1, width = 1, channels = 54 * unit, x_pitch = 54 * unit, filters = 12 * unit, y_pitch = 12 * unit, first = 0, shares = s0) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 12 * unit, first = 0) threadgroups=(12 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a0, x_moments = m0, x_weight = mbconv3_12_weight, x_bias = mbconv3_12_bias, weight = mbconv4_0_weight, y = a1, height = 1, width = 1, channels = 12 * unit, x_pitch = 12 * unit, filters = 72 * unit, y_pitch = 72 * unit, first = 0, shares = s0) threadgroups=(ceil_div(72 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 72 * unit, first = 0) threadgroups=(72 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_2_1_relu(x = a1, x_moments = m0, x_weight = mbconv4_1_weight, x_bias = mbconv4_1_bias, weight = mbconv4_3_weight, y = a0, height = 1, width = 1, to_height = 1, to_width = 1, channels = 72 * unit, x_pitch = 72 * unit, y_pitch = 72 * unit, first = 0, shares = s0) threadgroups=(ceil_div(72 * unit, 4 * QUADS), ceil_div(batch, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, ROWS * DOWN), channels = 72 * unit, first = 0) threadgroups=(72 * unit) threads=(JOINED)
// dispatch: normed_average_relu(x = a0, x_moments = m0, x_weight = mbconv4_4_weight, x_bias = mbconv4_4_bias, y = a1, pixels = 1, channels = 72 * unit, x_pitch = 72 * unit) threadgroups=(ceil_div(72 * unit, 4 * QUADS), batch) threads=(QUADS, DOWN)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_1_1_0_relu(x = a1, weight = mbconv4_7_weight, y = a0, height = 1, width = 1, channels = 72 * unit, x_pitch = 72 * unit, filters = 18 * unit, y_pitch = 18 * unit, first = 0) threadgroups=(ceil_div(18 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_1_1_0_sigmoid(x = a0, weight = mbconv4_9_weight, y = a1, height = 1, width = 1, channels = 18 * unit, x_pitch = 18 * unit, filters = 72 * unit, y_pitch = 72 * unit, first = 0) threadgroups=(ceil_div(72 * unit, BN), ceil_div(batch, BM)) threads=(128)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_moments_1_1_0(x = a1, weight = mbconv4_11_weight, y = a0, height = 1, width = 1, channels = 72 * unit, x_pitch = 72 * unit, filters = 18 * unit, y_pitch = 18 * unit, first = 0, shares = s0) threadgroups=(ceil_div(18 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 18 * unit, first = 0) threadgroups=(18 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a0, x_moments = m0, x_weight = mbconv4_12_weight, x_bias = mbconv4_12_bias, weight = mbconv5_0_weight, y = a1, height = 1, width = 1, channels = 18 * unit, x_pitch = 18 * unit, filters = 108 * unit, y_pitch = 108 * unit, first = 0, shares = s0) threadgroups=(ceil_div(108 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 108 * unit, first = 0) threadgroups=(108 * unit) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_1_1_relu(x = a1, x_moments = m0, x_weight = mbconv5_1_weight, x_bias = mbconv5_1_bias, weight = mbconv5_3_weight, y = a0, height = 1, width = 1, to_height = 1, to_width = 1, channels = 108 * unit, x_pitch = 108 * unit, y_pitch = 108 * unit, first = 0, shares = s0) threadgroups=(ceil_div(108 * unit, 4 * QUADS), ceil_div(batch, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, ROWS * DOWN), channels = 108 * unit, first = 0) threadgroups=(108 * unit) threads=(JOINED)
// dispatch: normed_average_relu(x = a0, x_moments = m0, x_weight = mbconv5_4_weight, x_bias = mbconv5_4_bias, y = a1, pixels = 1, channels = 108 * unit, x_pitch = 108 * unit) threadgroups=(ceil_div(108 * unit, 4 * QUADS), batch) threads=(QUADS, DOWN)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_1_1_0_relu(x = a1, weight = mbconv5_7_weight, y = a0, height = 1, width = 1, channels = 108 * unit, x_pitch = 108 * unit, filters = 27 * unit, y_pitch = 27 * unit, first = 0) threadgroups=(ceil_div(27 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: convolve_1_1_0_sigmoid(x = a0, weight = mbconv5_9_weight, y = a1, height = 1, width = 1, channels = 27 * unit, x_pitch = 27 * unit, filters = 108 * unit, y_pitch = 108 * unit, first = 0) threadgroups=(ceil_div(108 * unit, BN), ceil_div(batch, BM)) threads=(128)
// check: allow few-threadgroups the layer is small
// dispatch: convolve_moments_1_1_0(x = a1, weight = mbconv5_11_weight, y = a0, height = 1, width = 1, channels = 108 * unit, x_pitch = 108 * unit, filters = 24 * unit, y_pitch = 24 * unit, first = 0, shares = s0) threadgroups=(ceil_div(24 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 24 * unit, first = 0) threadgroups=(24 * unit) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0(x = a0, x_moments = m0, x_weight = mbconv5_12_weight, x_bias = mbconv5_12_bias, weight = conv_final_weight, y = a1, height = 1, width = 1, channels = 24 * unit, x_pitch = 24 * unit, filters = 88 * unit, y_pitch = 88 * unit, first = 0, shares = s0) threadgroups=(ceil_div(88 * unit, BN), ceil_div(batch, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch, BM), channels = 88 * unit, first = 0) threadgroups=(88 * unit) threads=(JOINED)
// dispatch: normed_average_relu(x = a1, x_moments = m0, x_weight = bn_final_weight, x_bias = bn_final_bias, y = a0, pixels = 1, channels = 88 * unit, x_pitch = 88 * unit) threadgroups=(ceil_div(88 * unit, 4 * QUADS), batch) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0(x = a0, weight = fc_weight, bias = fc_bias, height = 1, width = 1, channels = 88 * unit, x_pitch = 88 * unit, filters = classes, y_pitch = classes, first = 0) threadgroups=(ceil_div(classes, BN), ceil_div(batch, BM)) threads=(128)
// scratch: a0 float32 (max(max(6 * batch * extent1 * extent1 * unit, 108 * batch * unit), max(((54 * unit) / 4) * batch, ((6 * unit) / 4) * batch)))
// scratch: s0 float32 (max(max(24 * ceil_div(batch * extent1 * extent1, BM) * unit, 24 * ceil_div(batch * extent1 * extent1, ROWS * DOWN) * unit), max(432 * ceil_div(batch, BM) * unit, 432 * ceil_div(batch, ROWS * DOWN) * unit)))
// scratch: m0 float32 (216 * unit)
// scratch: a1 float32 (max(6 * batch * extent1 * extent1 * unit, 108 * batch * unit))
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
template [[host_name("normed_depthwise_moments_3_1_1_relu")]] [[kernel]]
decltype(normed_depthwise_moments<3, 1, 1, Relu>) normed_depthwise_moments<3, 1, 1, Relu>;
template [[host_name("normed_average_relu")]] [[kernel]]
decltype(normed_average<Relu>) normed_average<Relu>;
template [[host_name("convolve_1_1_0_relu")]] [[kernel]]
decltype(convolve<1, 1, 0, Identity, Relu>) convolve<1, 1, 0, Identity, Relu>;
template [[host_name("convolve_1_1_0_sigmoid")]] [[kernel]]
decltype(convolve<1, 1, 0, Identity, Sigmoid>) convolve<1, 1, 0, Identity, Sigmoid>;
template [[host_name("convolve_moments_1_1_0")]] [[kernel]]
decltype(convolve_moments<1, 1, 0, Identity>) convolve_moments<1, 1, 0, Identity>;
template [[host_name("normed_convolve_moments_1_1_0")]] [[kernel]]
decltype(normed_convolve_moments<1, 1, 0, Identity>) normed_convolve_moments<1, 1, 0, Identity>;
template [[host_name("normed_depthwise_moments_3_2_1_relu")]] [[kernel]]
decltype(normed_depthwise_moments<3, 2, 1, Relu>) normed_depthwise_moments<3, 2, 1, Relu>;
template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
