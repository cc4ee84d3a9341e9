// Attention of one query a head that sees the first `sinks` keys of a cache and the last `recent`
// ones. Heads of up to 256 dims have a cache of their own here.
// Threadgroup memory: 2080 bytes.
// dispatch: decode  threadgroups=(heads)  threads=(128)
// limits: dims <= 256, recent <= keys
#include "metalbench/decode.h"
using namespace metalbench;

[[kernel]] void decode(device const float* q, device const float* k, device const float* v,
                       device float* y, constant uint& keys, constant uint& dims,
                       constant uint& sinks, constant uint& recent,
                       uint head [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup Decode<4>::Memory memory;  // four SIMD-groups
  const ulong cache = ulong(head) * keys * dims, row = ulong(head) * dims;
  const WindowKeys seen = {keys, sinks, keys - recent};
  Decode<4>::attend(q + row, k + cache, v + cache, y + row, seen, dims, -INFINITY, memory, PLACE);
}
