// Weights in blocks of GGUF files as floats (metalbench/gguf_blocks.h): a thread unpacks 16 weights,
// whose codes are in the same bytes. Each row has a factor, as where a norm's weight is folded in.
// dispatch: dequantize  threads_in_grid=(cols / 16, rows)  threads=(TG, 1)
// instance: q4_k TYPE = 12, CODES = 256
// instance: q5_k TYPE = 13, CODES = 256
// instance: q6_k TYPE = 14, CODES = 256
// instance: q8_0 TYPE = 8, CODES = 32
// instance: iq4_nl TYPE = 20, CODES = 32
// instance: q4_0 TYPE = 2, CODES = 32
// instance: q4_1 TYPE = 3, CODES = 32
// instance: q5_0 TYPE = 6, CODES = 32
// instance: q5_1 TYPE = 7, CODES = 32
// instance: q2_k TYPE = 10, CODES = 256
// instance: q3_k TYPE = 11, CODES = 256
// instance: iq4_xs TYPE = 23, CODES = 256
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols % CODES == 0, rows * cols / 32 * 34 <= 4294967295
#include "metalbench/gguf_blocks.h"
using namespace metalbench;

[[kernel]] void dequantize(device const DTYPE* row, device const uchar* w, device DTYPE* y,
                           constant uint& cols, uint2 place [[thread_position_in_grid]]) {
  const Weights<Block<TYPE>> weights = {w, cols};
  const auto piece = weights.piece(place.y, place.x);
  UNROLLED
  for (uint q = 0; q < 4; ++q) {
    const uint quad = place.y * (cols / 4) + weights.column(place.x, q / 2) / 4 + q % 2;
    put_quad(y, quad, piece.quad(q) * float(row[place.y]));
  }
}
