// One step of a GRU as one product: inputs and last outputs one behind the other along depth, and
// four sums of a unit side by side (metalbench/cell_gates.h): of both gates those of input and state, of
// the candidate each by itself, because the reset gate comes between them; zeros stand for the half
// that such a sum has not, and cost a quarter of the product.
// dispatch: gru_cell  threadgroups=(ceil_div(4 * units, BN), ceil_div(batch, BM))  threads=(128)
// tune: BM = 32, 64
// tune: BN = 32, 64
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/cell_gates.h"
using namespace metal;
using namespace metalbench;

struct CandidateApart {
  static uint input(uint gate) { return gate < 3 ? gate : 4; }
  static uint state(uint gate) { return gate < 2 ? gate : gate == 3 ? 2 : 4; }
};

struct StoreMixture {
  device const DTYPE* h;
  device const DTYPE* bias;
  device const DTYPE* bias_h;
  device DTYPE* y;
  uint batch;
  uint units;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    const uint unit = column / 4;
    if (row < batch && unit < units) {
      float4 v = *sums;
      UNROLLED
      for (uint gate = 0; gate < 3; ++gate) {
        v[gate] += float(bias[gate * units + unit]);
      }
      v.w += float(bias_h[unit]);
      const ulong at = ulong(row) * units + unit;
      const float update = Sigmoid()(v.y);
      const float candidate = precise::tanh(fma(Sigmoid()(v.x), v.w, v.z));
      y[at] = DTYPE((1.0f - update) * candidate + update * float(h[at]));
    }
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void gru_cell(
    device const DTYPE* x, device const DTYPE* h, device const DTYPE* w_x, device const DTYPE* w_h,
    device const DTYPE* bias, device const DTYPE* bias_h, device DTYPE* y, constant uint& batch,
    constant uint& inputs, constant uint& units, uint2 tile [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Weights = GateRows<DTYPE, CandidateApart>;
  using Tile = Product<JoinedRows<DTYPE>, Weights, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  const JoinedRows<DTYPE> rows = {{x, batch, inputs}, {h, batch, units}};
  const JoinedRows<DTYPE> weights = {{w_x, 3 * units, inputs}, {w_h, 3 * units, units}};
  product.multiply(rows, Weights{weights, units}, rows.depth());
  product.store(StoreMixture{h, bias, bias_h, y, batch, units});
}
