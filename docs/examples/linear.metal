// A dense layer, y = relu(x W^T + bias): Linear is the product, BiasedThen and Relu are the map.
// Threadgroup memory: 10240 bytes.
// dispatch: dense  threadgroups=(ceil_div(features, 32), ceil_div(batch, 32))  threads=(128)
#include "metalbench/activations.h"
#include "metalbench/linear.h"
using namespace metalbench;

[[kernel]] void dense(device const float* x, device const float* w, device const float* bias,
                      device float* y, constant uint& batch, constant uint& inner,
                      constant uint& features, uint2 tile [[threadgroup_position_in_grid]],
                      PLACE_ARGUMENTS) {
  using Layer = Linear<32, 32, 16>;
  threadgroup float4 memory[Layer::kMemory];
  const Layer layer = {x, w, batch, inner, features};
  layer.store(y, BiasedThen<float, Relu>{{bias, features}}, tile, memory, PLACE);
}
