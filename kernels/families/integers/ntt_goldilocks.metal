// Number-theoretic transforms of high x low numbers, with their roots of unity as a first dispatch:
// columns, a product with roots, then rows, in the memory of threadgroups (metalbench/ntt.h). A
// threadgroup has as many columns or rows side by side as it has room for, so that what it reads or
// writes far apart are pieces of several numbers. Scratch is of words of 32 bits, two a number. The inverse transform has the inverse roots, and
// divides by the length with those between the passes.
// dispatch: make_roots  threads_in_grid=(high + 2 * low)  threads=(64)
// dispatch: columns  threadgroups=(batch * high * low / min(TILE, high * low))  threads=(TG)
// dispatch: rows  threadgroups=(batch * high * low / min(TILE, high * low))  threads=(TG)
// scratch: roots uint32 ((2 - BABYBEAR) * (high + 2 * low))
// scratch: between uint32 ((2 - BABYBEAR) * batch * high * low)
// instance: goldilocks BABYBEAR = 0, INVERSE = 0
// instance: inverse BABYBEAR = 0, INVERSE = 1
// instance: babybear BABYBEAR = 1, INVERSE = 0
// tune: TILE = 2048, 1024, 4096
// tune: TG = 256, 128
// defaults: cpu TG = 128
// limits: high <= TILE, low <= TILE, high * low <= 134217728
#include "metalbench/ntt.h"
using namespace metal;
using namespace metalbench;

#if BABYBEAR
using Field = BabyBear;
#else
using Field = Goldilocks;
#endif
using Word = Field::Word;
using Tile = NttTile<Field, TG>;

// Three tables: powers of the roots of the orders high and low, and the first `low` powers of that
// of their product.
[[kernel]] void make_roots(device uint* roots, constant uint& high, constant uint& low,
                           uint i [[thread_position_in_grid]]) {
  const bool is_high = i < high, is_low = !is_high && i < high + low;
  const uint levels = (is_low ? 0 : ctz(high)) + (is_high ? 0 : ctz(low));
  const uint exponent = is_high ? i : is_low ? i - high : i - high - low;
  Word root = root_of_unity<Field, (INVERSE != 0)>(levels, exponent);
  if (INVERSE && !is_high && !is_low) {
    root = Field::multiply(root, inverse_of_length<Field>(levels));
  }
  ((device Word*)roots)[i] = root;
}

// Where the strip of a threadgroup is: the first number of its transform, and its first column or row
// of 2^lane_bits.
struct Strip {
  ulong start;
  uint first;
  uint lane_bits;
};

// `across` and `along` are the logarithms of how many columns there are, and of how long they are.
static Strip strip_of(uint group, uint across, uint along) {
  const uint lane_bits = min(ctz(uint(TILE)), across + along) - along;
  const uint strip_bits = across - lane_bits;
  return {ulong(group >> strip_bits) << (across + along),
          (group & ((1u << strip_bits) - 1)) << lane_bits, lane_bits};
}

[[kernel]] void columns(device const Word* x, device const uint* roots, device uint* between,
                        constant uint& high, constant uint& low,
                        uint group [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup Word numbers[TILE];
  device const Word* powers = (device const Word*)roots;
  const uint low_bits = ctz(low), high_bits = ctz(high);
  const Strip strip = strip_of(group, low_bits, high_bits);
  const uint lanes = 1u << strip.lane_bits, count = high << strip.lane_bits;
  for (uint i = thread_index; i < count; i += TG) {
    const uint column = strip.first + (i & (lanes - 1));
    numbers[i] = x[strip.start + (i >> strip.lane_bits << low_bits) + column];
  }
  const Tile tile = {numbers, high_bits, strip.lane_bits, powers};
  tile.transform(thread_index);
  for (uint i = thread_index; i < count; i += TG) {
    const uint k = i >> strip.lane_bits, lane = i & (lanes - 1);
    const uint column = strip.first + lane, turn = k * column;
    const Word root =
        Field::multiply(powers[high + low + (turn & (low - 1))], powers[turn >> low_bits]);
    ((device Word*)between)[strip.start + (k << low_bits) + column] =
        Field::multiply(tile.result(k, lane), root);
  }
}

[[kernel]] void rows(device const uint* between, device const uint* roots, device Word* y,
                     constant uint& high, constant uint& low,
                     uint group [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup Word numbers[TILE];
  device const Word* powers = (device const Word*)roots;
  const uint low_bits = ctz(low), high_bits = ctz(high);
  const Strip strip = strip_of(group, high_bits, low_bits);
  const uint lanes = 1u << strip.lane_bits, count = low << strip.lane_bits;
  device const Word* from = (device const Word*)between + strip.start + (strip.first << low_bits);
  for (uint i = thread_index; i < count; i += TG) {
    numbers[((i & (low - 1)) << strip.lane_bits) + (i >> low_bits)] = from[i];
  }
  const Tile tile = {numbers, low_bits, strip.lane_bits, powers + high};
  tile.transform(thread_index);
  for (uint i = thread_index; i < count; i += TG) {
    const uint k = i >> strip.lane_bits, lane = i & (lanes - 1);
    y[strip.start + (k << high_bits) + strip.first + lane] = tile.result(k, lane);
  }
}
