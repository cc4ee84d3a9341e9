// SqueezeNet's module: few channels, then many.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// dispatch: convolve_biased_1_1_0_relu(weight = squeeze_weight, bias = squeeze_bias, y = a0, x_pitch = channels, filters = squeezed, y_pitch = squeezed, first = 0) threadgroups=(ceil_div(squeezed, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0_relu(x = a0, weight = expand1x1_weight, bias = expand1x1_bias, channels = squeezed, x_pitch = squeezed, filters = expanded, y_pitch = 2 * expanded, first = 0) threadgroups=(ceil_div(expanded, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1_relu(x = a0, weight = expand3x3_weight, bias = expand3x3_bias, channels = squeezed, x_pitch = squeezed, filters = expanded, y_pitch = 2 * expanded, first = expanded) threadgroups=(ceil_div(expanded, BN), ceil_div(batch * height * width, BM)) threads=(128)
// scratch: a0 float32 (batch * height * squeezed * width)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/networks.h"

template [[host_name("convolve_biased_1_1_0_relu")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Relu>) convolve_biased<1, 1, 0, Identity, Relu>;
template [[host_name("convolve_biased_3_1_1_relu")]] [[kernel]]
decltype(convolve_biased<3, 1, 1, Identity, Relu>) convolve_biased<3, 1, 1, Identity, Relu>;
