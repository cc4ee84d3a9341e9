// Products of large integers, limb by limb: a SIMD-group a product, its lanes 32 neighbouring limbs of
// the result at a time. A lane adds all products of limbs for its place, in 96 bits, from threadgroup
// memory where the second factor has zeros on both sides, so that lanes take the same way. What is
// above 32 bits moves to the next lanes by shuffles; the carries that are left are found at once, as
// the carries of one addition of the votes for limbs that make a carry and for those that pass it on.
// dispatch: bigint_mul  threadgroups=(ceil_div(count, TG / 32))  threads=(TG)  threadgroup_bytes=(memory: (2 * limbs + 64) * TG / 8)
// tune: TG = 128, 32, 64, 256
// defaults: cpu TG = 32
// limits: (2 * limbs + 64) * TG / 8 <= 32768
#include <metal_stdlib>
using namespace metal;

constant constexpr uint LANES = 32;

// The sum of products, below 2^96.
struct Column {
  ulong low;
  uint high;
};

static Column column_of(threadgroup const uint* x, threadgroup const uint* y, uint first, uint lane,
                        uint limbs) {
  Column sum = {0, 0};
  const uint end = min(first + LANES, limbs);
  for (uint i = first < limbs ? 0 : first - limbs + 1; i < end; ++i) {
    const ulong product = ulong(x[i]) * y[LANES + first + lane - i];
    sum.low += product;
    sum.high += sum.low < product ? 1 : 0;
  }
  return sum;
}

// The values of the lanes before this one, and of the last lanes of the block before for the first.
static uint from_lane_before(uint value, uint lane, uint distance, uint earlier) {
  const ushort from = ushort((lane - distance) % LANES);
  const uint here = simd_shuffle(value, from), there = simd_shuffle(earlier, from);
  return lane < distance ? there : here;
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void bigint_mul(
    device const uint* x, device const uint* y, device uint* z, constant uint& count,
    constant uint& limbs, threadgroup uint* memory [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint number = group * (TG / LANES) + simdgroup;
  if (number >= count) {
    return;
  }
  threadgroup uint* first = memory + simdgroup * (2 * limbs + 2 * LANES);
  threadgroup uint* second = first + limbs;
  device const uint* x_limbs = x + ulong(number) * limbs;
  device const uint* y_limbs = y + ulong(number) * limbs;
  device uint* z_limbs = z + ulong(number) * 2 * limbs;
  for (uint i = lane; i < limbs; i += LANES) {
    first[i] = x_limbs[i];
    second[LANES + i] = y_limbs[i];
  }
  second[lane] = 0;
  second[LANES + limbs + lane] = 0;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  uint earlier_middle = 0, earlier_high = 0, earlier_carry = 0, carry = 0;
  for (uint place = 0; place < 2 * limbs; place += LANES) {
    const Column column = column_of(first, second, place, lane, limbs);
    const uint middle = uint(column.low >> 32);
    // Three limbs at most: what is above 32 bits is 0, 1 or 2.
    const ulong sum = ulong(uint(column.low)) +
                      from_lane_before(middle, lane, 1, earlier_middle) +
                      from_lane_before(column.high, lane, 2, earlier_high);
    const uint above = uint(sum >> 32);
    const ulong limb = ulong(uint(sum)) + from_lane_before(above, lane, 1, earlier_carry);
    const ulong makes = ulong(simd_vote::vote_t(simd_ballot(limb > 0xffffffff)));
    const ulong passes = ulong(simd_vote::vote_t(simd_ballot(uint(limb) == 0xffffffff)));
    const ulong carries = ((makes << 1 | carry) + passes) ^ passes;
    if (place + lane < 2 * limbs) {
      z_limbs[place + lane] = uint(limb) + uint(carries >> lane & 1);
    }
    carry = uint(carries >> LANES & 1);
    earlier_middle = middle;
    earlier_high = column.high;
    earlier_carry = above;
  }
}
