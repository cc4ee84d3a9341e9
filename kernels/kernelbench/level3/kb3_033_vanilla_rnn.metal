// One step of a recurrent network, and a layer of its state. Two dispatches: the input and the last state
// are one behind the other along depth of one product (metalbench/cell_gates.h), and so are the columns
// of its weights, so that nothing is concatenated; bias and tanh are part of how it is stored.
// dispatch: step  threadgroups=(ceil_div(hidden, BN), ceil_div(batch, BM))  threads=(128)
// dispatch: answer  threadgroups=(ceil_div(features, BN), ceil_div(batch, BM))  threads=(128)
// scratch: state float32 (batch, hidden)
// tune: BM = 64, 32
// tune: BN = 64, 32
// tune: BK = 16, 8
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, BN = 32, BUFFERS = 2
// defaults: cuda BM = 32, BN = 32, BUFFERS = 2
#include "metalbench/activations.h"
#include "metalbench/cell_gates.h"
#include "metalbench/linear.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void step(
    device const float* x, device const float* initial_hidden, device const float* i2h_weight,
    device const float* i2h_bias, device float* state, constant uint& batch, constant uint& inner,
    constant uint& hidden, uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Rows = JoinedRows<float>;
  using Weights = JoinedRows<float, SlicedRows<float>>;
  using Tile = Product<Rows, Weights, BM, BN, BK>;
  threadgroup float4 memory[Tile::kMemory];
  Tile product(tile * uint2(BN, BM), memory, PLACE);
  const Rows rows = {{x, batch, inner}, {initial_hidden, batch, hidden}};
  const uint pitch = inner + hidden;
  product.multiply(rows, {{i2h_weight, hidden, inner, pitch},
                          {i2h_weight + inner, hidden, hidden, pitch}}, rows.depth());
  product.store(Store<float, BiasedThen<float, Tanh>>{state, batch, hidden, {{i2h_bias, hidden}}});
}

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void answer(
    device const float* state, device const float* h2o_weight, device const float* h2o_bias,
    device float* y, constant uint& batch, constant uint& hidden, constant uint& features,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Layer = Linear<BM, BN, BK>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {state, h2o_weight, batch, hidden, features};
  layer.store(y, Biased<float>{h2o_bias, features}, tile, memory, PLACE);
}
