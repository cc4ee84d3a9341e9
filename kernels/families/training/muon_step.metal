// One step of Muon: the momentum's update is made orthogonal by five Newton-Schulz iterations, each of
// three matrix products, A = X X^T, B = b A + c A A and a X + B X, in the coefficients of Jordan et
// al., 2024. Where there are more rows than columns it is A = X^T X and a X + X B, the same without a
// transpose. All between the arrays is float, in two places that alternate; the square A is of the
// shorter side. The last product stores the parameter.
// dispatch: update_momentum  threadgroups=(rows)  threads=(TG)
// dispatch: normalize  threads_in_grid=(ceil_div(cols, 4), rows)  threads=(TG, 1)
// dispatch: multiply_even  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: square  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: move_even  threadgroups=(ceil_div(cols, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: multiply_odd  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: square  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: move_odd  threadgroups=(ceil_div(cols, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: multiply_even  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: square  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: move_even  threadgroups=(ceil_div(cols, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: multiply_odd  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: square  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: move_odd  threadgroups=(ceil_div(cols, BN), ceil_div(rows, BM))  threads=(128)
// dispatch: multiply_even  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: square  threadgroups=(ceil_div(min(rows, cols), BN), ceil_div(min(rows, cols), BM))  threads=(128)
// dispatch: store_last  threadgroups=(ceil_div(cols, BN), ceil_div(rows, BM))  threads=(128)
// scratch: row_squares float32 (rows)
// scratch: matrices float32 (2, rows, cols)
// scratch: product float32 (min(rows, cols), min(rows, cols))
// scratch: polynomial float32 (min(rows, cols), min(rows, cols))
// tune: TG = 256, 64, 128
// tune: BM = 64, 32
// tune: BN = 32, 64
// tune: BUFFERS = 1, 2
// defaults: cpu BM = 32, TG = 64, BUFFERS = 2
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"
using namespace metalbench;

constant constexpr float kLinear = 3.4445f, kCubic = -4.7750f, kQuintic = 2.0315f;

using Rows = MatrixRows<float>;
using Columns = MatrixColumns<float>;

[[kernel, max_total_threads_per_threadgroup(TG)]] void update_momentum(
    device const DTYPE* parameter, device const DTYPE* gradient, device const DTYPE* velocity,
    device DTYPE* new_velocity, device float* matrices, device float* row_squares,
    constant uint& cols, constant float& momentum, constant float& decay,
    uint row [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float partial[TG / 32];
  const ulong begin = ulong(row) * cols;
  float4 squares = 0.0f;
  for (uint column = 4 * thread_index; column < cols; column += 4 * TG) {
    const float4 g = fma(decay, load_quad(parameter + begin, column, cols),
                         load_quad(gradient + begin, column, cols));
    const float4 old = load_quad(velocity + begin, column, cols);
    const float4 v = fma(1.0f - momentum, g, momentum * old);
    const float4 update = fma(1.0f - momentum, g, momentum * v);
    store_quad(new_velocity + begin, column, cols, v);
    store_quad(matrices + begin, column, cols, update);
    squares = fma(update, update, squares);
  }
  const float sum = group_sum<TG / 32>(total(squares), partial, PLACE);
  if (thread_index == 0) {
    row_squares[row] = sum;
  }
}

// Every SIMD-group adds up the rows' squares: they are few next to the products that follow.
[[kernel, max_total_threads_per_threadgroup(TG)]] void normalize(
    device float* matrices, device const float* row_squares, constant uint& rows,
    constant uint& cols, uint2 at [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  float sum = 0.0f;
  for (uint row = 0; row < rows; ++row) {
    sum += row_squares[row];
  }
  const float scale = 1.0f / (precise::sqrt(sum) + 1e-7f);
  device float* own = matrices + ulong(at.y) * cols;
  store_quad(own, 4 * at.x, cols, scale * load_quad(own, 4 * at.x, cols));
}

// A, from the matrix in place `From`.
template <uint From>
[[kernel]] void multiply(device const float* matrices, device float* product, constant uint& rows,
                         constant uint& cols, uint2 tile [[threadgroup_position_in_grid]],
                         PLACE_ARGUMENTS) {
  using Wide = Product<Rows, Rows, BM, BN, 16>;
  using Tall = Product<Columns, Columns, BM, BN, 16>;
  threadgroup float4 memory[max(Wide::kMemory, Tall::kMemory)];
  device const float* x = matrices + ulong(From) * rows * cols;
  if (rows <= cols) {
    Wide a(tile * uint2(BN, BM), memory, PLACE);
    a.multiply({x, rows, cols}, {x, rows, cols}, cols);
    a.store(Store<float>{product, rows, rows});
  } else {
    Tall a(tile * uint2(BN, BM), memory, PLACE);
    a.multiply({x, rows, cols, cols}, {x, rows, cols, cols}, rows);
    a.store(Store<float>{product, cols, cols});
  }
}
template [[host_name("multiply_even")]] [[kernel]] decltype(multiply<0>) multiply<0>;
template [[host_name("multiply_odd")]] [[kernel]] decltype(multiply<1>) multiply<1>;

// B.
struct Quintic {
  device const float* a;
  uint cols;
  float4 operator()(float4 v, uint row, uint column) const {
    return fma(kQuintic, v, kCubic * load_quad(a + ulong(row) * cols, column, cols));
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void square(
    device const float* product, device float* polynomial, constant uint& rows, constant uint& cols,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Tile = Product<Rows, Columns, BM, BN, 16>;
  threadgroup float4 memory[Tile::kMemory];
  const uint side = min(rows, cols);
  Tile a(tile * uint2(BN, BM), memory, PLACE);
  a.multiply({product, side, side}, {product, side, side, side}, side);
  a.store(Store<float, Quintic>{polynomial, side, side, {product, side}});
}

// The next matrix: epilogue(a X + B X) of a tile.
template <typename Epilogue>
static void move_tile(device const float* x, device const float* polynomial, uint rows, uint cols,
                      Epilogue epilogue, uint2 tile, threadgroup float4* memory, Place place) {
  // Both are (rows, cols) times a square of the shorter side, on the side where it fits.
  const uint side = min(rows, cols);
  const bool is_wide = rows <= cols;
  Product<Rows, Columns, BM, BN, 16> next(tile * uint2(BN, BM), memory, place);
  next.multiply({is_wide ? polynomial : x, rows, side},
                {is_wide ? x : polynomial, side, cols, cols}, side);
  next.store(epilogue);
}

struct Moved {
  device const float* x;
  uint cols;
  float4 operator()(float4 v, uint row, uint column) const {
    return fma(kLinear, load_quad(x + ulong(row) * cols, column, cols), v);
  }
};

template <uint From>
[[kernel]] void move(device float* matrices, device const float* polynomial, constant uint& rows,
                     constant uint& cols, uint2 tile [[threadgroup_position_in_grid]],
                     PLACE_ARGUMENTS) {
  threadgroup float4 memory[Product<Rows, Columns, BM, BN, 16>::kMemory];
  device const float* x = matrices + ulong(From) * rows * cols;
  device float* to = matrices + ulong(1 - From) * rows * cols;
  move_tile(x, polynomial, rows, cols, Store<float, Moved>{to, rows, cols, {x, cols}}, tile, memory,
            PLACE);
}
template [[host_name("move_even")]] [[kernel]] decltype(move<0>) move<0>;
template [[host_name("move_odd")]] [[kernel]] decltype(move<1>) move<1>;

struct Stepped {
  Moved moved;
  device const DTYPE* parameter;
  float rate;
  float4 operator()(float4 v, uint row, uint column) const {
    const float4 old = load_quad(parameter + ulong(row) * moved.cols, column, moved.cols);
    return fma(-rate, moved(v, row, column), old);
  }
};

[[kernel, max_total_threads_per_threadgroup(kTileThreads)]] void store_last(
    device const float* matrices, device const float* polynomial, device const DTYPE* parameter,
    device DTYPE* new_parameter, constant uint& rows, constant uint& cols, constant float& rate,
    uint2 tile [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  threadgroup float4 memory[Product<Rows, Columns, BM, BN, 16>::kMemory];
  const float tall = precise::sqrt(max(1.0f, float(rows) / float(cols)));
  const Stepped step = {{matrices, cols}, parameter, rate * tall};
  move_tile(matrices, polynomial, rows, cols,
            Store<DTYPE, Stepped>{new_parameter, rows, cols, step}, tile, memory, PLACE);
}
