// What the matrix units of a device reach: every threadgroup multiplies the same operands, which
// stay in the caches.
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>

#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;
using namespace mpp::tensor_ops;

template <int Side, int Simds, typename T>
void multiply(device T* left, device T* right, device float* end, uint depth, uint threadgroup_index) {
  using Operand = tensor<device T, dextents<int32_t, 2>, tensor_inline>;
  using Result = tensor<device float, dextents<int32_t, 2>, tensor_inline>;
  constexpr auto shape =
      matmul2d_descriptor(Side, Side, static_cast<int>(dynamic_extent), false, false, false,
                          matmul2d_descriptor::mode::multiply);
  matmul2d<shape, execution_simdgroups<Simds>> product;
  Operand rows(left, dextents<int32_t, 2>(int(depth), Side));
  Operand columns(right, dextents<int32_t, 2>(Side, int(depth)));
  Result sums(end + threadgroup_index * Side * Side, dextents<int32_t, 2>(Side, Side));
  product.run(rows, columns, sums);
}

#define PRODUCTS(NAME, SIDE, SIMDS, T)                                                           \
  [[kernel]] void NAME(device T* left, device T* right, device float* end, constant uint& depth, \
                       uint threadgroup_index [[threadgroup_position_in_grid]]) {                \
    multiply<SIDE, SIMDS>(left, right, end, depth, threadgroup_index);                           \
  }

PRODUCTS(float32_64, 64, 4, float)
PRODUCTS(float16_64, 64, 4, half)
PRODUCTS(float16_128, 128, 8, half)
