// ResNet's block of two convolutions.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// dispatch: convolve_moments_3_1_1(weight = conv1_weight, y = a0, x_pitch = channels, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_convolve_moments_3_1_1_relu(x = a0, x_moments = m0, x_weight = bn1_weight, x_bias = bn1_bias, weight = conv2_weight, y = a1, channels = filters, x_pitch = filters, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m0, count = ceil_div(batch * height * width, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: convolve_moments_1_1_0(weight = downsample_0_weight, y = a0, x_pitch = channels, y_pitch = filters, first = 0, shares = s0) threadgroups=(ceil_div(filters, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: join(shares = s0, moments = m1, count = ceil_div(batch * height * width, BM), channels = filters, first = 0) threadgroups=(filters) threads=(JOINED)
// dispatch: normed_add_normed_relu(x = a1, x_moments = m0, x_weight = bn2_weight, x_bias = bn2_bias, other = a0, other_moments = m1, other_weight = downsample_1_weight, other_bias = downsample_1_bias, pixels = batch * height * width, channels = filters) threads_in_grid=(ceil_div(filters, 4), ceil_div(batch * height * width, ROWS)) threads=(QUADS, DOWN)
// scratch: a0 float32 (batch * filters * height * width)
// scratch: s0 float32 (4 * ceil_div(batch * height * width, BM) * filters)
// scratch: m0 float32 (2 * filters)
// scratch: a1 float32 (batch * filters * height * width)
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

template [[host_name("convolve_moments_3_1_1")]] [[kernel]]
decltype(convolve_moments<3, 1, 1, Identity>) convolve_moments<3, 1, 1, Identity>;
template [[host_name("normed_convolve_moments_3_1_1_relu")]] [[kernel]]
decltype(normed_convolve_moments<3, 1, 1, Relu>) normed_convolve_moments<3, 1, 1, Relu>;
template [[host_name("convolve_moments_1_1_0")]] [[kernel]]
decltype(convolve_moments<1, 1, 0, Identity>) convolve_moments<1, 1, 0, Identity>;
template [[host_name("normed_add_normed_relu")]] [[kernel]]
decltype(normed_add_normed<Identity, Relu>) normed_add_normed<Identity, Relu>;
