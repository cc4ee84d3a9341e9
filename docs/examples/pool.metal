// Means of three elements, two apart, of sequences with their channels last. A thread has four
// channels of one element. The operation is one of joins.h, or a struct like those.
// Threadgroup memory: 0 bytes.
// dispatch: means  threads_in_grid=(ceil_div(channels, 4), (length - 1) / 2, batch)  threads=(64)
// limits: 3 <= length
#include "metalbench/pool.h"
using namespace metalbench;

[[kernel]] void means(device const float* x, device float* y, constant uint& length,
                      constant uint& channels, uint3 place [[thread_position_in_grid]]) {
  pool<1, 1, 3, 2>(Mean(), x, y, Extent{1, 1, length}, channels, place);
}
