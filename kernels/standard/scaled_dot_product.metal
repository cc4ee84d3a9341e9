// Attention, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V: no score leaves the
// threadgroup.
// metalbench/attention.h tells how: eight queries a SIMD-group in registers, keys and values
// through one tile of threadgroup memory, online softmax. Heads of up to 128 dims. What is tuned is
// how many queries share a tile: more of them read keys less often, fewer make more threadgroups;
// and for GPUs whose threadgroups are few, how many SIMD-groups split eight queries, and whether keys
// and values are asked for ahead of time.
// dispatch: scaled_dot_product  threadgroups=(ceil_div(queries, 8 * SG))  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2, 4
// tune: AHEAD = 0, 1
// defaults: cuda SPLITS = 2, AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128
#include "metalbench/attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void scaled_dot_product(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& queries, constant uint& keys, constant uint& dims,
    uint group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, Seen<false>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group, PLACE);
  attention.attend({q, queries, dims}, {k, keys, dims}, {v, keys, dims}, {y, queries, dims});
}
