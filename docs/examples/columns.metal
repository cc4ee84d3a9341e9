// The mean over the rows of each matrix of a batch. A threadgroup has a strip of 64 columns: 16
// quads across, 8 threads down. The operation is one of joins.h, or a struct like those.
// Threadgroup memory: 2048 bytes.
// dispatch: mean_of_columns  threadgroups=(ceil_div(ceil_div(cols, 4), 16), batch)  threads=(16, 8)
#include "metalbench/columns.h"
#include "metalbench/joins.h"
using namespace metalbench;

[[kernel]] void mean_of_columns(device const float* x, device float* y, constant uint& rows,
                                constant uint& cols, uint2 group [[threadgroup_position_in_grid]],
                                uint2 at [[thread_position_in_threadgroup]]) {
  threadgroup float4 partial[8][16];
  reduce_columns<16, 8>(Mean(), x, y, rows, cols, group, at, partial);
}
