// Tiles of matrix products by Metal 4's matmul2d, for kernels of the language from metal4.0 on.
//
// A threadgroup of Simds SIMD-groups computes TileM x TileN elements of C = A B. The operands are
// tensors over the whole matrices, from which a tile takes slices: their elements go straight from
// device memory to the matrix units, so there is no copy in threadgroup memory and no loop over the
// depth here. Elements outside of the matrices count as zero and are not written: matrices may have
// any size. Which thread has which sum is up to the device. So an epilogue is a function of one sum
// and of its row and column, and not of four neighbours as in epilogues.h.
#pragma once
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>

#include <metal_stdlib>
#include <metal_tensor>

namespace metalbench {

using namespace metal;
using namespace mpp::tensor_ops;

// A row-major matrix. Dimension 0 of a tensor is the innermost one: extents are (columns, rows).
template <typename T>
using MatrixTensor = tensor<device T, dextents<int32_t, 2>, tensor_inline>;

template <typename T>
MatrixTensor<T> matrix_tensor(device T* data, uint rows, uint cols) {
  return MatrixTensor<T>(data, dextents<int32_t, 2>(int(cols), int(rows)));
}

// The epilogue of a plain product.
struct SumAsItIs {
  float operator()(float sum, uint, uint) const { return sum; }
};

// Write epilogue(sum, row, column) for the elements of a tile of `c` that begins there. `results`
// is a cooperative tensor as `sums`, with the element type of `c`.
template <typename Sums, typename Results, typename T, typename Epilogue>
void store_sums(thread Sums& sums, thread Results& results, MatrixTensor<T> c, int row, int column,
                Epilogue epilogue) {
  const int rows = c.get_extent(1), columns = c.get_extent(0);
#pragma clang loop unroll(full)
  for (ushort i = 0; i < sums.get_capacity(); ++i) {
    const auto at = sums.get_multidimensional_index(i);
    const int x = column + at[0], y = row + at[1];
    // An epilogue may read what belongs to the element.
    const bool exists = sums.is_valid_element(i) && x < columns && y < rows;
    results[i] = exists ? T(epilogue(sums[i], uint(y), uint(x))) : T(0);
  }
  auto target = c.slice(column, row);
  results.store(target);
}

// `RightTransposed`: the rows of the right matrix are the columns of B, as the weights of a linear
// layer lie.
template <int TileM, int TileN, int Simds, bool RightTransposed = false>
struct TensorTile {
  static constexpr constant matmul2d_descriptor kShape =
      matmul2d_descriptor(TileM, TileN, static_cast<int>(dynamic_extent), false, RightTransposed,
                          false, matmul2d_descriptor::mode::multiply);

  // Write the elements of tile (x, y) of `c`. Sums are floats whatever the operands are.
  template <typename L, typename R, typename T, typename Epilogue = SumAsItIs>
  static void multiply(MatrixTensor<L> left, MatrixTensor<R> right, MatrixTensor<T> c, uint2 tile,
                       Epilogue epilogue = Epilogue()) {
    matmul2d<kShape, execution_simdgroups<Simds>> product;
    const int row = int(tile.y) * TileM, column = int(tile.x) * TileN;
    auto rows = left.slice(0, row);
    auto columns = RightTransposed ? right.slice(0, column) : right.slice(column, 0);
    using Rows = decltype(rows);
    using Columns = decltype(columns);
    auto sums = product.template get_destination_cooperative_tensor<Rows, Columns, float>();
    product.run(rows, columns, sums);
    auto results = product.template get_destination_cooperative_tensor<Rows, Columns, T>();
    store_sums(sums, results, c, row, column, epilogue);
  }
};

}  // namespace metalbench
