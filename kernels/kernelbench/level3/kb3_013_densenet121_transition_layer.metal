// Between dense blocks: batch norm, ReLU, pixels' convolution, means of 2 x 2.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// let: extent1 = ((height - 2) / 2) + 1
// let: extent2 = ((width - 2) / 2) + 1
// dispatch: pool_moments_1_1_0_max(y = a0, to_height = height, to_width = width, x_pitch = channels, y_pitch = channels, first = 0, shares = s0) threadgroups=(ceil_div(channels, 4 * QUADS), ceil_div(batch * height * width, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, ROWS * DOWN), first = 0) threadgroups=(channels) threads=(JOINED)
// dispatch: normed_pool_2_2_0_mean_relu(x = a0, x_moments = m0, x_weight = transition_0_weight, x_bias = transition_0_bias, y = a1, to_height = extent1, to_width = extent2, x_pitch = channels, y_pitch = channels, first = 0) threadgroups=(ceil_div(channels, 4 * QUADS), ceil_div(batch * extent1 * extent2, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_1_1_0(x = a1, weight = transition_2_weight, height = extent1, width = extent2, x_pitch = channels, y_pitch = filters, first = 0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * extent1 * extent2, BM)) threads=(128)
// scratch: a0 float32 (batch * channels * height * width)
// scratch: s0 float32 (4 * ceil_div(batch * height * width, ROWS * DOWN) * channels)
// scratch: m0 float32 (2 * channels)
// scratch: a1 float32 (batch * channels * extent1 * extent2)
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

template [[host_name("pool_moments_1_1_0_max")]] [[kernel]]
decltype(pool_moments<1, 1, 0, Max, Identity>) pool_moments<1, 1, 0, Max, Identity>;
template [[host_name("normed_pool_2_2_0_mean_relu")]] [[kernel]]
decltype(normed_pool<2, 2, 0, Mean, Relu>) normed_pool<2, 2, 0, Mean, Relu>;
template [[host_name("convolve_1_1_0")]] [[kernel]]
decltype(convolve<1, 1, 0, Identity, Identity>) convolve<1, 1, 0, Identity, Identity>;
