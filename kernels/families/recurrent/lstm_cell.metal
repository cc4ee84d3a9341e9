// One step of an LSTM as one product: inputs and last outputs lie one behind the other along depth,
// and the four gates of a unit side by side (metalbench/cell_gates.h), so that cell and output follow
// from a quad of the sums, in registers. Gates are never in memory.
// dispatch: lstm_cell  threadgroups=(ceil_div(4 * units, BN), ceil_div(batch, BM))  threads=(128)
// tune: BM = 32, 64
// tune: BN = 32, 64
// tune: BK = 16, 8
// dtypes: float32, float16, bfloat16
#include "metalbench/activations.h"
#include "metalbench/cell_gates.h"
using namespace metal;
using namespace metalbench;

struct AllFour {
  static uint input(uint gate) { return gate; }
  static uint state(uint gate) { return gate; }
};

struct StoreCell {
  device const DTYPE* cell;
  device const DTYPE* bias;
  device DTYPE* y;
  device DTYPE* left;
  uint batch;
  uint units;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    const uint unit = column / 4;
    if (row < batch && unit < units) {
      float4 v = *sums;
      UNROLLED
      for (uint gate = 0; gate < 4; ++gate) {
        v[gate] += float(bias[gate * units + unit]);
      }
      const ulong at = ulong(row) * units + unit;
      const float kept = Sigmoid()(v.y) * float(cell[at]);
      const float next = fma(Sigmoid()(v.x), precise::tanh(v.z), kept);
      left[at] = DTYPE(next);
      y[at] = DTYPE(Sigmoid()(v.w) * precise::tanh(next));
    }
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void lstm_cell(
    device const DTYPE* x, device const DTYPE* h, device const DTYPE* cell, device const DTYPE* w_x,
    device const DTYPE* w_h, device const DTYPE* bias, device DTYPE* y, device DTYPE* left,
    constant uint& batch, constant uint& inputs, constant uint& units,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Weights = GateRows<DTYPE, AllFour>;
  using Tile = Product<JoinedRows<DTYPE>, Weights, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  const JoinedRows<DTYPE> rows = {{x, batch, inputs}, {h, batch, units}};
  const JoinedRows<DTYPE> weights = {{w_x, 4 * units, inputs}, {w_h, 4 * units, units}};
  product.multiply(rows, Weights{weights, units}, rows.depth());
  product.store(StoreCell{cell, bias, y, left, batch, units});
}
