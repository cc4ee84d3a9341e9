// y = A (gate * up) with weights of mxfp4: codes of 4 bits, and a scale for each group of 32. A
// SIMD-group makes two rows. A vector is any object that gives the quad of a column, and a factor
// of the sums once all quads have been read.
// Threadgroup memory: 0 bytes.
// dispatch: gated_matvec  threadgroups=(ceil_div(rows, 8))  threads=(128)
// limits: cols % 32 == 0
#include "metalbench/quantised_matvec.h"
using namespace metalbench;

struct Gated {
  device const half* gate;
  device const half* up;
  float4 quad(uint column) { return quad_at(gate, column / 4) * quad_at(up, column / 4); }
  float factor() const { return 1.0f; }
};

[[kernel]] void gated_matvec(device const uint* codes, device const uchar* scales,
                             device const half* gate, device const half* up, device float* y,
                             constant uint& rows, constant uint& cols,
                             uint group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint first = (4 * group + simdgroup) * 2;
  const Weights<MxFp4> weights = {codes, {scales}, cols};
  // Two rows, and the codes of one step at a time.
  quantised_matvec<2, 1>(weights, Gated{gate, up}, y, rows, first, lane);
}
