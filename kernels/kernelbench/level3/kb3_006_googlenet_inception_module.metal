// An Inception module; channels are multiples of `unit`.
// Written by tools/network_kernels.py. Batch norms are applied where their results are
// fetched, activations where sums are stored (metalbench/networks.h).
// dispatch: convolve_biased_1_1_0(weight = branch1x1_weight, bias = branch1x1_bias, channels = 30 * unit, x_pitch = 30 * unit, filters = 12 * unit, y_pitch = 32 * unit, first = 0) threadgroups=(ceil_div(12 * unit, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0(weight = branch3x3_0_weight, bias = branch3x3_0_bias, y = a0, channels = 30 * unit, x_pitch = 30 * unit, filters = 6 * unit, y_pitch = 6 * unit, first = 0) threadgroups=(ceil_div(6 * unit, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: convolve_biased_3_1_1(x = a0, weight = branch3x3_1_weight, bias = branch3x3_1_bias, channels = 6 * unit, x_pitch = 6 * unit, filters = 13 * unit, y_pitch = 32 * unit, first = 12 * unit) threadgroups=(ceil_div(13 * unit, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: convolve_biased_1_1_0(weight = branch5x5_0_weight, bias = branch5x5_0_bias, y = a0, channels = 30 * unit, x_pitch = 30 * unit, filters = unit, y_pitch = unit, first = 0) threadgroups=(ceil_div(unit, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: convolve_biased_5_1_2(x = a0, weight = branch5x5_1_weight, bias = branch5x5_1_bias, channels = unit, x_pitch = unit, filters = 3 * unit, y_pitch = 32 * unit, first = 25 * unit) threadgroups=(ceil_div(3 * unit, BN), ceil_div(batch * height * width, BM)) threads=(128)
// dispatch: pool_3_1_1_max(y = a0, to_height = height, to_width = width, channels = 30 * unit, x_pitch = 30 * unit, y_pitch = 30 * unit, first = 0) threadgroups=(ceil_div(30 * unit, 4 * QUADS), ceil_div(batch * height * width, ROWS * DOWN)) threads=(QUADS, DOWN)
// dispatch: convolve_biased_1_1_0(x = a0, weight = branch_pool_1_weight, bias = branch_pool_1_bias, channels = 30 * unit, x_pitch = 30 * unit, filters = 4 * unit, y_pitch = 32 * unit, first = 28 * unit) threadgroups=(ceil_div(4 * unit, BN), ceil_div(batch * height * width, BM)) threads=(128)
// scratch: a0 float32 (30 * batch * height * unit * width)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: QUADS = 8, 4, 16
// tune: DOWN = 16, 8
// tune: ROWS = 4, 2, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/networks.h"

template [[host_name("convolve_biased_1_1_0")]] [[kernel]]
decltype(convolve_biased<1, 1, 0, Identity, Identity>) convolve_biased<1, 1, 0, Identity, Identity>;
template [[host_name("convolve_biased_3_1_1")]] [[kernel]]
decltype(convolve_biased<3, 1, 1, Identity, Identity>) convolve_biased<3, 1, 1, Identity, Identity>;
template [[host_name("convolve_biased_5_1_2")]] [[kernel]]
decltype(convolve_biased<5, 1, 2, Identity, Identity>) convolve_biased<5, 1, 2, Identity, Identity>;
template [[host_name("pool_3_1_1_max")]] [[kernel]]
decltype(pool<3, 1, 1, Max, Identity>) pool<3, 1, 1, Max, Identity>;
