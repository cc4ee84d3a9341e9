// y = A (x + 1) for a row-major matrix: a SIMD-group makes two elements of y, and a vector is any
// object that gives the quad of a column.
// Threadgroup memory: 0 bytes.
// dispatch: matvec  threadgroups=(ceil_div(rows, 8))  threads=(128)
#include "metalbench/matvec.h"
using namespace metalbench;

struct PlusOne {
  device const half* x;
  uint cols;
  float4 operator()(uint column) const { return load_quad(x, column, cols) + 1.0f; }
};

[[kernel]] void matvec(device const half* a, device const half* x, device float* y,
                       constant uint& rows, constant uint& cols,
                       uint group [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint first = (4 * group + simdgroup) * 2;
  if (first < rows) {
    RowProducts<2> products(first, rows, lane);
    products.add(a, cols, PlusOne{x, cols});
    products.store(y);
  }
}
