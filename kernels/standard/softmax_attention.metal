// softmax(Q K^T / sqrt(dims)) V for heads of up to 64 dims, without the matrix of scores that the
// formula asks for.
// One pass of metalbench/attention.h. Short heads need half the registers and half the threadgroup
// memory of the general bound of 128, and that is a template parameter: more threadgroups fit on a
// core at once.
// dispatch: softmax_attention  threadgroups=(ceil_div(queries, 8 * SG))  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda SPLITS = 2, AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 64
#include "metalbench/attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void softmax_attention(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& queries, constant uint& keys, constant uint& dims,
    uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 64, Seen<false>, 64, SPLITS, AHEAD>;
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group, PLACE);
  attention.attend({q, queries, dims}, {k, keys, dims}, {v, keys, dims}, {y, queries, dims});
}
