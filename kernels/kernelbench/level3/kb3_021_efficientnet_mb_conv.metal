// EfficientNet's block: wider, depthwise of 5 x 5 taps, narrower.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((height - 1) / 2) + 1
// let: extent2 = ((width - 1) / 2) + 1
// dispatch: convolve_moments_1_1_0(weight = expand_conv_0_weight, y = a0, x_pitch = channels, filters = 6 * channels, y_pitch = 6 * channels, first = 0, shares = s0) threadgroups=(ceil_div(6 * channels, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = 6 * channels, first = 0) threadgroups=(6 * channels) threads=(JOINED)
// dispatch: normed_depthwise_moments_5_2_2_relu6(x = a0, x_moments = m0, x_weight = expand_conv_1_weight, x_bias = expand_conv_1_bias, weight = depthwise_conv_0_weight, y = a1, to_height = extent1, to_width = extent2, channels = 6 * channels, x_pitch = 6 * channels, y_pitch = 6 * channels, first = 0, shares = s0) threadgroups=(ceil_div(6 * channels, 4 * QUADS), ceil_div(batch * extent1 * extent2, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent2, ROWS * DOWN), channels = 6 * channels, first = 0) threadgroups=(6 * channels) threads=(JOINED)
// dispatch: normed_convolve_moments_1_1_0_relu6(x = a1, x_moments = m0, x_weight = depthwise_conv_1_weight, x_bias = depthwise_conv_1_bias, weight = project_conv_0_weight, y = a0, height = extent1, width = extent2, channels = 6 * channels, x_pitch = 6 * channels, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * extent1 * extent2, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * extent1 * extent2, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_apply(x = a0, x_moments = m0, x_weight = project_conv_1_weight, x_bias = project_conv_1_bias, pixels = batch * extent1 * extent2, channels = filters) threads_in_grid=(ceil_div(filters, 4), ceil_div(batch * extent1 * extent2, ROWS)) threads=(QUADS, DOWN)
// scratch: a0 float32 (max(6 * batch * channels * height * width, batch * extent1 * extent2 * filters))
// scratch: s0 float32 (max(24 * ceil_div(batch * height * width, BM) * channels, max(24 * ceil_div(batch * extent1 * extent2, ROWS * DOWN) * channels, 4 * ceil_div(batch * extent1 * extent2, BM) * filters)))
// scratch: m0 float32 (max(12 * channels, 2 * filters))
// scratch: a1 float32 (6 * batch * channels * extent1 * extent2)
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

template [[host_name("convolve_moments_1_1_0")]] [[kernel]]
decltype(convolve_moments<1, 1, 0, Identity>) convolve_moments<1, 1, 0, Identity>;
template [[host_name("normed_depthwise_moments_5_2_2_relu6")]] [[kernel]]
decltype(normed_depthwise_moments<5, 2, 2, Relu6>) normed_depthwise_moments<5, 2, 2, Relu6>;
template [[host_name("normed_convolve_moments_1_1_0_relu6")]] [[kernel]]
decltype(normed_convolve_moments<1, 1, 0, Relu6>) normed_convolve_moments<1, 1, 0, Relu6>;
template [[host_name("normed_apply")]] [[kernel]]
decltype(normed_apply<Identity>) normed_apply<Identity>;
