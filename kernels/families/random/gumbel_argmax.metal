// A token of every row by its odds: the largest of logits and Gumbel's numbers, one threadgroup a
// row. Each element's word is found from its place alone, by twenty rounds of Threefry, so that
// nothing is written but the token. Of equal ones the first wins (metalbench/arg_rows.h), also of a
// row of -inf or NaN, as in MLX.
// dispatch: gumbel_argmax  threadgroups=(rows)  threads=(min(TG, max(LEAST, 32 * ceil_div(vocabulary, 128))))
// tune: TG = 1024, 256, 64, 128, 512
// tune: LEAST = 32, 1024
// defaults: cpu TG = 256, LEAST = 1024
// defaults: cuda TG = 256, LEAST = 1024
// limits: rows * vocabulary <= 4294967292
#include "metalbench/arg_rows.h"
#include "metalbench/threefry.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void gumbel_argmax(
    device const DTYPE* logits, device const uint* key, device uint* y, constant uint& rows,
    constant uint& vocabulary, uint row [[threadgroup_position_in_grid]], ROW_PLACE_ARGUMENTS) {
  const auto where = ROW_PLACE(LEAST, TG);
  const uint threads = threads_of<TG>(where);
  threadgroup ArgMemory<TG / 32> partial;
  Candidate best = {-INFINITY, UINT_MAX};
  uint first_nan = UINT_MAX;
  for (uint column = thread_index; column < vocabulary; column += threads) {
    const uint at = row * vocabulary + column;
    const uint word = threefry_word(at, rows * vocabulary, key[0], key[1]);
    const float uniform = min(float(word) / 4294967295.0f, 0.99999994f);
    const float value = float(logits[at]) - precise::log(-precise::log(uniform));
    best = better(best, value, column);
    if (isnan(value)) {
      first_nan = min(first_nan, column);
    }
  }
  best = first_nan == UINT_MAX ? best : Candidate{NAN, first_nan};
  first_of_best<TG / 32>(best, y + row, partial, where);
}
