// ShuffleNet's unit of three groups.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// dispatch: convolve_moments_1_1_0(weight = conv1_weight, y = a0, x_pitch = channels, filters = (filters / 4), y_pitch = (filters / 4), first = 0, shares = s0) threadgroups=(ceil_div((((filters / 4)) / 3), BN), ceil_div(batch * height * width, BM), 3) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = (filters / 4), first = 0) threadgroups=((filters / 4)) threads=(JOINED)
// dispatch: normed_depthwise_moments_3_1_1_relu(x = a0, x_moments = m0, x_weight = bn1_weight, x_bias = bn1_bias, weight = conv2_weight, y = a1, to_height = height, to_width = width, channels = (filters / 4), x_pitch = (filters / 4), y_pitch = (filters / 4), first = 0, shares = s0) threadgroups=(ceil_div((filters / 4), 4 * QUADS), ceil_div(batch * height * width, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, ROWS * DOWN), channels = (filters / 4), first = 0) threadgroups=((filters / 4)) threads=(JOINED)
// dispatch: normed_shuffle(x = a1, x_moments = m0, x_weight = bn2_weight, x_bias = bn2_bias, groups = 3, y = a0, pixels = batch * height * width, channels = (filters / 4)) threads_in_grid=(ceil_div((filters / 4), 4), ceil_div(batch * height * width, ROWS)) threads=(QUADS, DOWN)
// dispatch: convolve_moments_1_1_0(x = a0, weight = conv3_weight, y = a1, channels = (filters / 4), x_pitch = (filters / 4), y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div((filters / 3), BN), ceil_div(batch * height * width, BM), 3) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: convolve_moments_1_1_0(weight = shortcut_0_weight, y = a0, x_pitch = channels, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m1, count = ceil_div(batch * height * width, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_add_normed_relu(x = a1, x_moments = m0, x_weight = bn3_weight, x_bias = bn3_bias, other = a0, other_moments = m1, other_weight = shortcut_1_weight, other_bias = shortcut_1_bias, pixels = batch * height * width, channels = filters) threads_in_grid=(ceil_div(filters, 4), ceil_div(batch * height * width, ROWS)) threads=(QUADS, DOWN)
// scratch: a0 float32 (max(batch * filters * height * width, (filters / 4) * batch * height * width))
// scratch: s0 float32 (max(4 * ceil_div(batch * height * width, BM) * filters, max(4 * (filters / 4) * ceil_div(batch * height * width, BM), 4 * (filters / 4) * ceil_div(batch * height * width, ROWS * DOWN))))
// scratch: m0 float32 (max(2 * filters, 2 * (filters / 4)))
// scratch: a1 float32 (max(batch * filters * height * width, (filters / 4) * batch * height * width))
// scratch: m1 float32 (2 * filters)
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
template [[host_name("normed_depthwise_moments_3_1_1_relu")]] [[kernel]]
decltype(normed_depthwise_moments<3, 1, 1, Relu>) normed_depthwise_moments<3, 1, 1, Relu>;
template [[host_name("normed_shuffle")]] [[kernel]]
decltype(normed_shuffle<Identity>) normed_shuffle<Identity>;
template [[host_name("normed_add_normed_relu")]] [[kernel]]
decltype(normed_add_normed<Relu, Identity>) normed_add_normed<Relu, Identity>;
