// One token of each row, drawn in proportion to the exponentials of its logits: where logit plus
// Gumbel noise is largest. The noise is a function of a key and the element's number and is never
// stored; neither are probabilities, and the row is read once.
// dispatch: gumbel_sample  threadgroups=(rows)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/arg_rows.h"
#include "metalbench/threefry.h"
using namespace metal;
using namespace metalbench;

// The logits of a row with their noise, by column.
struct Noisy {
  device const DTYPE* logits;
  device const uint* key;
  uint first;
  uint count;
  float operator()(uint column) const {
    const float u = unit_of(random_word(key, first + column, count));
    return float(logits[column]) - precise::log(-precise::log(u));
  }
};

[[kernel]] void gumbel_sample(device const DTYPE* logits, device const uint* key, device uint* y,
                              constant uint& rows, constant uint& cols,
                              uint row [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]],
                              uint lane [[thread_index_in_simdgroup]],
                              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const Place place = {thread_index, lane, simdgroup};
  threadgroup ArgMemory<TG / 32> memory;
  const uint first = row * cols;
  Candidate best = {-INFINITY, UINT_MAX};
  const Noisy noisy = {logits + first, key, first, rows * cols};
  for (uint column = thread_index; column < cols; column += TG) {
    best = better(best, noisy(column), column);
  }
  first_of_best<TG / 32>(best, y + row, memory, place);
}
