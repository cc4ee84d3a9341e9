// Attention of one head in which a query sees the last `width` keys up to its own position, for
// heads of up to 64 dims. Four SIMD-groups have eight queries each.
// Threadgroup memory: 14336 bytes.
// dispatch: attend  threadgroups=(ceil_div(tokens, 32))  threads=(128)
// limits: dims <= 64
#include "metalbench/attention.h"
#include "metalbench/sights.h"
using namespace metalbench;

[[kernel]] void attend(device const float* q, device const float* k, device const float* v,
                       device float* y, constant uint& tokens, constant uint& dims,
                       constant uint& width, uint group [[threadgroup_position_in_grid]],
                       PLACE_ARGUMENTS) {
  using Flash = SightedAttention<float, 4, 64, WindowSight>;
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group, PLACE, WindowSight{width});
  attention.attend({q, tokens, dims}, {k, tokens, dims}, {v, tokens, dims}, {y, tokens, dims});
}
