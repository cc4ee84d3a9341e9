// ResNet-18, its first stage `filters` wide.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((side - 1) / 2) + 1
// let: extent2 = ((extent1 - 1) / 2) + 1
// let: extent3 = ((extent2 - 1) / 2) + 1
// let: extent4 = ((extent3 - 1) / 2) + 1
// let: extent5 = ((extent4 - 1) / 2) + 1
// dispatch: convolve_moments_7_2_3(weight = conv1_weight, y = a0, height = side, width = side, channels = 3, x_pitch = 3, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * extent1 * extent1, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent1, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_pool_3_2_1_max_relu(x = a0, x_moments = m0, x_weight = bn1_weight, x_bias = bn1_bias, y = a1, height = extent1, width = extent1, to_height = extent2, to_width = extent2, channels = filters, x_pitch = filters, y_pitch = filters, first = 0) threadgroups=(ceil_div(filters, 4 * QUADS), ceil_div(batch * extent2 * extent2, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_3_1_1(x = a1, weight = layer1_0_conv1_weight, y = a0, height = extent2, width = extent2, channels = filters, x_pitch = filters, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent2 * extent2, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a0, x_moments = m0, x_weight = layer1_0_bn1_weight, x_bias = layer1_0_bn1_bias, weight = layer1_0_conv2_weight, y = a2, height = extent2, width = extent2, channels = filters, x_pitch = filters, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent2 * extent2, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_add_relu(x = a2, x_moments = m0, x_weight = layer1_0_bn2_weight, x_bias = layer1_0_bn2_bias, other = a1, y = a0, pixels = batch * extent2 * extent2, channels = filters) threads_in_grid=(ceil_div(filters, 4), ceil_div(batch * extent2 * extent2, ROWS)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_3_1_1(x = a0, weight = layer1_1_conv1_weight, y = a2, height = extent2, width = extent2, channels = filters, x_pitch = filters, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent2 * extent2, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a2, x_moments = m0, x_weight = layer1_1_bn1_weight, x_bias = layer1_1_bn1_bias, weight = layer1_1_conv2_weight, y = a1, height = extent2, width = extent2, channels = filters, x_pitch = filters, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * extent2 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent2 * extent2, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_add_relu(x = a1, x_moments = m0, x_weight = layer1_1_bn2_weight, x_bias = layer1_1_bn2_bias, other = a0, y = a2, pixels = batch * extent2 * extent2, channels = filters) threads_in_grid=(ceil_div(filters, 4), ceil_div(batch * extent2 * extent2, ROWS)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_3_2_1(x = a2, weight = layer2_0_conv1_weight, y = a1, height = extent2, width = extent2, channels = filters, x_pitch = filters, filters = 2 * filters, y_pitch = 2 * filters, first = 0, shares = s0) threadgroups=(ceil_div(2 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent3 * extent3, BM), channels = 2 * filters, first = 0) threadgroups=(2 * filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a1, x_moments = m0, x_weight = layer2_0_bn1_weight, x_bias = layer2_0_bn1_bias, weight = layer2_0_conv2_weight, y = a0, height = extent3, width = extent3, channels = 2 * filters, x_pitch = 2 * filters, filters = 2 * filters, y_pitch = 2 * filters, first = 0, shares = s0) threadgroups=(ceil_div(2 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent3 * extent3, BM), channels = 2 * filters, first = 0) threadgroups=(2 * filters) threads=(JOINED)
// dispatch: convolve_moments_1_2_0(x = a2, weight = layer2_0_downsample_0_weight, y = a1, height = extent2, width = extent2, channels = filters, x_pitch = filters, filters = 2 * filters, y_pitch = 2 * filters, first = 0, shares = s0) threadgroups=(ceil_div(2 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m1, count = ceil_div(batch * extent3 * extent3, BM), channels = 2 * filters, first = 0) threadgroups=(2 * filters) threads=(JOINED)
// dispatch: normed_add_normed_relu(x = a0, x_moments = m0, x_weight = layer2_0_bn2_weight, x_bias = layer2_0_bn2_bias, other = a1, other_moments = m1, other_weight = layer2_0_downsample_1_weight, other_bias = layer2_0_downsample_1_bias, y = a2, pixels = batch * extent3 * extent3, channels = 2 * filters) threads_in_grid=(ceil_div(2 * filters, 4), ceil_div(batch * extent3 * extent3, ROWS)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_3_1_1(x = a2, weight = layer2_1_conv1_weight, y = a1, height = extent3, width = extent3, channels = 2 * filters, x_pitch = 2 * filters, filters = 2 * filters, y_pitch = 2 * filters, first = 0, shares = s0) threadgroups=(ceil_div(2 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent3 * extent3, BM), channels = 2 * filters, first = 0) threadgroups=(2 * filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a1, x_moments = m0, x_weight = layer2_1_bn1_weight, x_bias = layer2_1_bn1_bias, weight = layer2_1_conv2_weight, y = a0, height = extent3, width = extent3, channels = 2 * filters, x_pitch = 2 * filters, filters = 2 * filters, y_pitch = 2 * filters, first = 0, shares = s0) threadgroups=(ceil_div(2 * filters, BN), ceil_div(batch * extent3 * extent3, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m1, count = ceil_div(batch * extent3 * extent3, BM), channels = 2 * filters, first = 0) threadgroups=(2 * filters) threads=(JOINED)
// dispatch: normed_add_relu(x = a0, x_moments = m1, x_weight = layer2_1_bn2_weight, x_bias = layer2_1_bn2_bias, other = a2, y = a1, pixels = batch * extent3 * extent3, channels = 2 * filters) threads_in_grid=(ceil_div(2 * filters, 4), ceil_div(batch * extent3 * extent3, ROWS)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_3_2_1(x = a1, weight = layer3_0_conv1_weight, y = a2, height = extent3, width = extent3, channels = 2 * filters, x_pitch = 2 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0, shares = s0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, BM), channels = 4 * filters, first = 0) threadgroups=(4 * filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a2, x_moments = m0, x_weight = layer3_0_bn1_weight, x_bias = layer3_0_bn1_bias, weight = layer3_0_conv2_weight, y = a0, height = extent4, width = extent4, channels = 4 * filters, x_pitch = 4 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0, shares = s0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, BM), channels = 4 * filters, first = 0) threadgroups=(4 * filters) threads=(JOINED)
// dispatch: convolve_moments_1_2_0(x = a1, weight = layer3_0_downsample_0_weight, y = a2, height = extent3, width = extent3, channels = 2 * filters, x_pitch = 2 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0, shares = s0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m1, count = ceil_div(batch * extent4 * extent4, BM), channels = 4 * filters, first = 0) threadgroups=(4 * filters) threads=(JOINED)
// dispatch: normed_add_normed_relu(x = a0, x_moments = m0, x_weight = layer3_0_bn2_weight, x_bias = layer3_0_bn2_bias, other = a2, other_moments = m1, other_weight = layer3_0_downsample_1_weight, other_bias = layer3_0_downsample_1_bias, y = a1, pixels = batch * extent4 * extent4, channels = 4 * filters) threads_in_grid=(ceil_div(4 * filters, 4), ceil_div(batch * extent4 * extent4, ROWS)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_3_1_1(x = a1, weight = layer3_1_conv1_weight, y = a2, height = extent4, width = extent4, channels = 4 * filters, x_pitch = 4 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0, shares = s0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent4 * extent4, BM), channels = 4 * filters, first = 0) threadgroups=(4 * filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a2, x_moments = m0, x_weight = layer3_1_bn1_weight, x_bias = layer3_1_bn1_bias, weight = layer3_1_conv2_weight, y = a0, height = extent4, width = extent4, channels = 4 * filters, x_pitch = 4 * filters, filters = 4 * filters, y_pitch = 4 * filters, first = 0, shares = s0) threadgroups=(ceil_div(4 * filters, BN), ceil_div(batch * extent4 * extent4, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m1, count = ceil_div(batch * extent4 * extent4, BM), channels = 4 * filters, first = 0) threadgroups=(4 * filters) threads=(JOINED)
// dispatch: normed_add_relu(x = a0, x_moments = m1, x_weight = layer3_1_bn2_weight, x_bias = layer3_1_bn2_bias, other = a1, y = a2, pixels = batch * extent4 * extent4, channels = 4 * filters) threads_in_grid=(ceil_div(4 * filters, 4), ceil_div(batch * extent4 * extent4, ROWS)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_3_2_1(x = a2, weight = layer4_0_conv1_weight, y = a1, height = extent4, width = extent4, channels = 4 * filters, x_pitch = 4 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0, shares = s0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, BM), channels = 8 * filters, first = 0) threadgroups=(8 * filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a1, x_moments = m0, x_weight = layer4_0_bn1_weight, x_bias = layer4_0_bn1_bias, weight = layer4_0_conv2_weight, y = a0, height = extent5, width = extent5, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0, shares = s0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, BM), channels = 8 * filters, first = 0) threadgroups=(8 * filters) threads=(JOINED)
// dispatch: convolve_moments_1_2_0(x = a2, weight = layer4_0_downsample_0_weight, y = a1, height = extent4, width = extent4, channels = 4 * filters, x_pitch = 4 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0, shares = s0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m1, count = ceil_div(batch * extent5 * extent5, BM), channels = 8 * filters, first = 0) threadgroups=(8 * filters) threads=(JOINED)
// dispatch: normed_add_normed_relu(x = a0, x_moments = m0, x_weight = layer4_0_bn2_weight, x_bias = layer4_0_bn2_bias, other = a1, other_moments = m1, other_weight = layer4_0_downsample_1_weight, other_bias = layer4_0_downsample_1_bias, y = a2, pixels = batch * extent5 * extent5, channels = 8 * filters) threads_in_grid=(ceil_div(8 * filters, 4), ceil_div(batch * extent5 * extent5, ROWS)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_3_1_1(x = a2, weight = layer4_1_conv1_weight, y = a1, height = extent5, width = extent5, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0, shares = s0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent5 * extent5, BM), channels = 8 * filters, first = 0) threadgroups=(8 * filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a1, x_moments = m0, x_weight = layer4_1_bn1_weight, x_bias = layer4_1_bn1_bias, weight = layer4_1_conv2_weight, y = a0, height = extent5, width = extent5, channels = 8 * filters, x_pitch = 8 * filters, filters = 8 * filters, y_pitch = 8 * filters, first = 0, shares = s0) threadgroups=(ceil_div(8 * filters, BN), ceil_div(batch * extent5 * extent5, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m1, count = ceil_div(batch * extent5 * extent5, BM), channels = 8 * filters, first = 0) threadgroups=(8 * filters) threads=(JOINED)
// dispatch: normed_add_relu(x = a0, x_moments = m1, x_weight = layer4_1_bn2_weight, x_bias = layer4_1_bn2_bias, other = a2, y = a1, pixels = batch * extent5 * extent5, channels = 8 * filters) threads_in_grid=(ceil_div(8 * filters, 4), ceil_div(batch * extent5 * extent5, ROWS)) threads=(QUADS, DOWN)
// dispatch: average(x = a1, y = a2, pixels = extent5 * extent5, channels = 8 * filters, x_pitch = 8 * filters) threadgroups=(ceil_div(8 * filters, 4 * QUADS), batch) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0(x = a2, weight = fc_weight, bias = fc_bias, height = 1, width = 1, channels = 8 * filters, x_pitch = 8 * filters, filters = classes, y_pitch = classes, first = 0) threadgroups=(ceil_div(classes, BN), ceil_div(batch, BM)) threads=(128)
// scratch: a0 float32 (max(max(batch * extent1 * extent1 * filters, 2 * batch * extent3 * extent3 * filters), max(4 * batch * extent4 * extent4 * filters, 8 * batch * extent5 * extent5 * filters)))
// scratch: s0 float32 (max(max(4 * ceil_div(batch * extent1 * extent1, BM) * filters, 4 * ceil_div(batch * extent2 * extent2, BM) * filters), max(8 * ceil_div(batch * extent3 * extent3, BM) * filters, max(16 * ceil_div(batch * extent4 * extent4, BM) * filters, 32 * ceil_div(batch * extent5 * extent5, BM) * filters))))
// scratch: m0 float32 (16 * filters)
// scratch: a1 float32 (max(max(batch * extent2 * extent2 * filters, 2 * batch * extent3 * extent3 * filters), max(4 * batch * extent4 * extent4 * filters, 8 * batch * extent5 * extent5 * filters)))
// scratch: a2 float32 (max(max(batch * extent2 * extent2 * filters, 2 * batch * extent3 * extent3 * filters), max(4 * batch * extent4 * extent4 * filters, 8 * batch * extent5 * extent5 * filters)))
// scratch: m1 float32 (16 * filters)
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

template [[host_name("convolve_moments_7_2_3")]] [[kernel]]
decltype(convolve_moments<7, 2, 3, Identity>) convolve_moments<7, 2, 3, Identity>;
template [[host_name("normed_pool_3_2_1_max_relu")]] [[kernel]]
decltype(normed_pool<3, 2, 1, Max, Relu>) normed_pool<3, 2, 1, Max, Relu>;
template [[host_name("convolve_moments_3_1_1")]] [[kernel]]
decltype(convolve_moments<3, 1, 1, Identity>) convolve_moments<3, 1, 1, Identity>;
template [[host_name("normed_convolve_moments_3_1_1_relu")]] [[kernel]]
decltype(normed_convolve_moments<3, 1, 1, Relu>) normed_convolve_moments<3, 1, 1, Relu>;
template [[host_name("normed_add_relu")]] [[kernel]]
decltype(normed_add<Identity, Relu>) normed_add<Identity, Relu>;
template [[host_name("convolve_moments_3_2_1")]] [[kernel]]
decltype(convolve_moments<3, 2, 1, Identity>) convolve_moments<3, 2, 1, Identity>;
template [[host_name("convolve_moments_1_2_0")]] [[kernel]]
decltype(convolve_moments<1, 2, 0, Identity>) convolve_moments<1, 2, 0, Identity>;
template [[host_name("normed_add_normed_relu")]] [[kernel]]
decltype(normed_add_normed<Identity, Relu>) normed_add_normed<Identity, Relu>;
template [[host_name("average")]] [[kernel]]
decltype(average<Identity>) average<Identity>;
template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
