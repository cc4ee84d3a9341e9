// A dense block of six layers.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// dispatch: pool_moments_1_1_0_max(to_height = height, to_width = width, x_pitch = channels, y_pitch = 6 * growth + channels, first = 0, shares = s0) threadgroups=(ceil_div(channels, 4 * QUADS), ceil_div(batch * height * width, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, ROWS * DOWN), first = 0) threadgroups=(channels) threads=(JOINED)
// dispatch: normed_extend_moments_3_1_1_relu(x = y, x_moments = m0, x_weight = layers_0_0_weight, x_bias = layers_0_0_bias, weight = layers_0_2_weight, x_pitch = 6 * growth + channels, filters = growth, y_pitch = 6 * growth + channels, first = channels, shares = s0) threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = growth, first = channels) threadgroups=(growth) threads=(JOINED)
// dispatch: normed_extend_moments_3_1_1_relu(x = y, x_moments = m0, x_weight = layers_1_0_weight, x_bias = layers_1_0_bias, weight = layers_1_2_weight, channels = channels + growth, x_pitch = 6 * growth + channels, filters = growth, y_pitch = 6 * growth + channels, first = channels + growth, shares = s0) threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = growth, first = channels + growth) threadgroups=(growth) threads=(JOINED)
// dispatch: normed_extend_moments_3_1_1_relu(x = y, x_moments = m0, x_weight = layers_2_0_weight, x_bias = layers_2_0_bias, weight = layers_2_2_weight, channels = 2 * growth + channels, x_pitch = 6 * growth + channels, filters = growth, y_pitch = 6 * growth + channels, first = 2 * growth + channels, shares = s0) threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = growth, first = 2 * growth + channels) threadgroups=(growth) threads=(JOINED)
// dispatch: normed_extend_moments_3_1_1_relu(x = y, x_moments = m0, x_weight = layers_3_0_weight, x_bias = layers_3_0_bias, weight = layers_3_2_weight, channels = 3 * growth + channels, x_pitch = 6 * growth + channels, filters = growth, y_pitch = 6 * growth + channels, first = 3 * growth + channels, shares = s0) threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = growth, first = 3 * growth + channels) threadgroups=(growth) threads=(JOINED)
// dispatch: normed_extend_moments_3_1_1_relu(x = y, x_moments = m0, x_weight = layers_4_0_weight, x_bias = layers_4_0_bias, weight = layers_4_2_weight, channels = 4 * growth + channels, x_pitch = 6 * growth + channels, filters = growth, y_pitch = 6 * growth + channels, first = 4 * growth + channels, shares = s0) threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = growth, first = 4 * growth + channels) threadgroups=(growth) threads=(JOINED)
// dispatch: normed_extend_3_1_1_relu(x = y, x_moments = m0, x_weight = layers_5_0_weight, x_bias = layers_5_0_bias, weight = layers_5_2_weight, channels = 5 * growth + channels, x_pitch = 6 * growth + channels, filters = growth, y_pitch = 6 * growth + channels, first = 5 * growth + channels) threadgroups=(ceil_div(growth, BN), ceil_div(batch * height * width, BM)) threads=(128)
// scratch: s0 float32 (max(4 * ceil_div(batch * height * width, BM) * growth, 4 * ceil_div(batch * height * width, ROWS * DOWN) * channels))
// scratch: m0 float32 (12 * growth + 2 * channels)
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
template [[host_name("normed_extend_moments_3_1_1_relu")]] [[kernel]]
decltype(normed_extend_moments<3, 1, 1, Relu>) normed_extend_moments<3, 1, 1, Relu>;
template [[host_name("normed_extend_3_1_1_relu")]] [[kernel]]
decltype(normed_extend<3, 1, 1, Relu, Identity>) normed_extend<3, 1, 1, Relu, Identity>;
