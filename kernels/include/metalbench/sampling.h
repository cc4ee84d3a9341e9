// A token of a row of logits, by one threadgroup in one dispatch: a penalty for tokens that were
// there before, a temperature, the `count` largest logits, of these the fewest whose probabilities
// reach p, of these the ones with at least `least` times the largest probability, and a draw by
// Gumbel's numbers. What equals the smallest logit that stays, stays too.
//
// The row is read twice. First every thread finds the largest of each of its four columns of quads:
// as many elements as a rank says are at or above the maximum of that rank, so that it bounds what
// can stay. Then what is at or above the bound becomes a candidate in threadgroup memory: little
// more than what stays. Candidates are sorted by counting what is before each. Where candidates do
// not decide, because hundreds of logits are equal or the probabilities of the candidates do not
// reach p, the cuts are found bit by bit as in ranks.h, by reading the row some thirty times.
#pragma once
#include "metalbench/arg_rows.h"
#include "metalbench/ranks.h"
#include "metalbench/softmax.h"
#include "metalbench/threefry.h"

namespace metalbench {

constant constexpr uint kCandidates = 512;
constant constexpr uint kMarkedTokens = 32768;  // whose bits are in threadgroup memory at once
constant constexpr uint kLikely = 256;          // of a text's next tokens, where no count is given

struct SamplingRule {
  float temperature;
  uint count;   // 0: any number
  float p;      // 1: all of them
  float least;  // 0: all of them
};

static_assert(2 * kCandidates <= kMarkedTokens / 32, "sorted candidates are where marks were");

template <uint Threads>
struct SamplingMemory {
  RankMemory<Threads> ranks;
  ArgMemory<Threads / 32> best;
  float2 sums[Threads / 32];
  atomic_uint found;
  uint marks[kMarkedTokens / 32];
  float values[kCandidates];
  uint tokens[kCandidates];
};

// A row of logits, and the tokens that were there before.
template <uint Threads, typename T>
struct PenalisedRow {
  device const T* logits;
  uint cols;
  device const uint* seen;
  uint seen_count;
  float penalty;
  threadgroup uint* marks;
  Place place;

  // Shows all quads to an `op`, as op(quad, column); -inf past the end. A block of the vocabulary
  // after the other, of which the tokens that were seen are marked first.
  template <typename Op>
  void visit(thread Op& op) const {
    for (uint first = 0; first < cols; first += kMarkedTokens) {
      mark(first);
      const uint end = min(cols, first + kMarkedTokens);
      for (uint column = first + 4 * place.thread_index; column < end; column += 4 * Threads) {
        const uint marked = marks[(column - first) / 32] >> (column % 32);
        const float4 v = load_quad(logits, column, end, -INFINITY);
        const bool4 before = (uint4(marked) >> uint4(0, 1, 2, 3) & 1) != 0;
        const float4 less = select(v * penalty, v / penalty, v > 0.0f);
        op(select(v, less, before), column);
      }
    }
  }

  void mark(uint first) const {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = place.thread_index; i < kMarkedTokens / 32; i += Threads) {
      marks[i] = 0;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = place.thread_index; i < seen_count; i += Threads) {
      const uint at = seen[i] - first;  // what is before wraps, and is behind
      if (at < kMarkedTokens) {
        // Words of which only this is atomic: a barrier is before it, and one behind it.
        atomic_fetch_or_explicit((threadgroup atomic_uint*)&marks[at / 32], 1u << (at % 32),
                                 memory_order_relaxed);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
};

inline uint4 sort_keys(float4 v) {
  return uint4(sort_key(v.x), sort_key(v.y), sort_key(v.z), sort_key(v.w));
}

// The largest of each of a thread's columns of quads, and the sum of exponentials of all.
struct LaneMaxima {
  float4 largest;
  ExpSum sum;
  float inverse_temperature;
  bool has_sum;
  void operator()(float4 v, uint) {
    largest = max(largest, v);
    if (has_sum) {
      sum = with_quad(sum, v * inverse_temperature);
    }
  }
};

struct FourKeys {
  uint4 keys;
  template <typename Op>
  void visit(thread Op& op) const {
    op(keys);
  }
};

// Leaves what is at or above a key; of too many only how many there are.
struct Collect {
  uint key;
  uint cols;
  threadgroup atomic_uint* found;
  threadgroup float* values;
  threadgroup uint* tokens;
  void operator()(float4 v, uint column) {
    const uint4 keys = sort_keys(v);
    if (max(max(keys.x, keys.y), max(keys.z, keys.w)) < key) {
      return;
    }
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      if (keys[i] >= key && column + i < cols) {
        const uint at = atomic_fetch_add_explicit(found, 1u, memory_order_relaxed);
        if (at < kCandidates) {
          values[at] = v[i];
          tokens[at] = column + i;
        }
      }
    }
  }
};

// What a row shows to bits_of_rank().
template <typename Row>
struct KeysOf {
  Row row;
  template <typename Op>
  struct Shown {
    thread Op& op;
    void operator()(float4 v, uint) { op(sort_keys(v)); }
  };
  template <typename Op>
  void visit(thread Op& op) const {
    Shown<Op> shown = {op};
    row.visit(shown);
  }
};

// The probabilities, times the sum of all, of what is at or above each of three keys.
struct MassFrom {
  uint least;  // of what counts
  uint4 keys;
  float peak;
  float inverse_temperature;
  float4 sums;
  void operator()(float4 v, uint) {
    const uint4 of_row = sort_keys(v);
    const float4 mass = precise::exp((v - peak) * inverse_temperature);
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      const uint key = of_row[i];
      sums += select(float4(0.0f), float4(mass[i]), uint4(key) >= max(keys, uint4(least)));
    }
  }
};

// Gumbel's numbers of a row, as MLX's categorical() numbers them.
struct GumbelNumbers {
  uint first;  // of the row
  uint count;
  uint2 key;
  float operator()(uint token) const {
    const float uniform = unit_of(threefry_word(first + token, count, key.x, key.y));
    return -precise::log(-precise::log(uniform));
  }
};

// The best of what is at or above a key.
struct DrawFrom {
  uint key;
  uint cols;
  float inverse_temperature;
  GumbelNumbers gumbel;
  Candidate best;
  void operator()(float4 v, uint column) {
    UNROLLED
    for (uint i = 0; i < 4; ++i) {
      if (sort_key(v[i]) >= key && column + i < cols) {
        best = better(best, fma(v[i], inverse_temperature, gumbel(column + i)), column + i);
      }
    }
  }
};

template <uint Threads, typename T>
struct Sampler {
  using Row = PenalisedRow<Threads, T>;
  Row row;
  SamplingRule rule;
  GumbelNumbers gumbel;
  threadgroup SamplingMemory<Threads>& memory;
  Place place;

  float inverse_temperature() const { return 1.0f / rule.temperature; }

  void draw(device uint* y) const {
    LaneMaxima lanes = {-INFINITY, no_exp_sum(), inverse_temperature(), rule.count == 0};
    if (place.thread_index == 0) {
      atomic_store_explicit(&memory.found, 0u, memory_order_relaxed);
    }
    row.visit(lanes);
    const FourKeys maxima = {sort_keys(lanes.largest)};
    // Half of the bits bound what stays almost as well as all of them.
    const uint rank = min(rule.count == 0 ? kLikely : rule.count, 4 * Threads + 1);
    const uint bound = bits_of_rank<Threads, 16>(maxima, rank, memory.ranks, place);
    const ExpSum all = group_exp_sum<Threads / 32>(lanes.sum, memory.sums, place);
    Collect collect = {bound, row.cols, &memory.found, memory.values, memory.tokens};
    row.visit(collect);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint found = atomic_load_explicit(&memory.found, memory_order_relaxed);
    Candidate best = {-INFINITY, UINT_MAX};
    if (found > kCandidates || !draw_of_candidates(found, all, best)) {
      best = draw_of_row(maxima);
    }
    first_of_best<Threads / 32>(best, y, memory.best, place);
  }

  // Whether the candidates decide; `best` is this thread's best of them.
  bool draw_of_candidates(uint found, ExpSum all, thread Candidate& best) const {
    threadgroup float* sorted = (threadgroup float*)memory.marks;
    threadgroup uint* sorted_tokens = memory.marks + kCandidates;
    for (uint i = place.thread_index; i < found; i += Threads) {
      const float value = memory.values[i];
      const uint token = memory.tokens[i];
      uint before = 0;
      for (uint j = 0; j < found; ++j) {
        const float other = memory.values[j];
        before += other > value || (other == value && memory.tokens[j] < token) ? 1 : 0;
      }
      sorted[before] = value;
      sorted_tokens[before] = token;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float peak = sorted[0], inverse = inverse_temperature();
    const uint most = min(rule.count == 0 ? found : rule.count, found);
    const float last = sorted[max(most, 1u) - 1];
    threadgroup float* masses = memory.values;
    for (uint i = place.thread_index; i < found; i += Threads) {
      masses[i] = sorted[i] >= last ? precise::exp((sorted[i] - peak) * inverse) : 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float whole = 0.0f;
    for (uint j = 0; j < found; ++j) {
      whole += masses[j];
    }
    const float least = precise::log(rule.least);
    const float total = rule.count == 0 ? all.sum * precise::exp(all.peak - peak * inverse) : whole;
    const bool decides =
        rule.count > 0 || whole >= rule.p * total || (last - peak) * inverse < least;
    for (uint i = place.thread_index; decides && i < found; i += Threads) {
      const float value = sorted[i];
      if (value < last || (value - peak) * inverse < least) {
        break;
      }
      float above = 0.0f;
      for (uint j = 0; j < i && sorted[j] > value; ++j) {
        above += masses[j];
      }
      if (above < rule.p * total) {
        const uint token = sorted_tokens[i];
        best = better(best, fma(value, inverse, gumbel(token)), token);
      }
    }
    return decides;
  }

  // The same of all elements, by cuts that are found bit by bit.
  Candidate draw_of_row(FourKeys maxima) const {
    const uint highest = bits_of_rank<Threads, 32>(maxima, 1, memory.ranks, place);
    const float peak = of_sort_key(highest), inverse = inverse_temperature();
    const KeysOf<Row> keys = {row};
    uint cut = sort_key(peak + rule.temperature * precise::log(rule.least));
    uint least = 0;
    if (rule.count > 0) {
      least = bits_of_rank<Threads, 32>(keys, min(rule.count, row.cols), memory.ranks, place);
    }
    if (rule.p < 1.0f) {
      const float enough = rule.p * mass_from(least, uint4(0), peak, 0).x;
      uint key = 0;
      for (uint bit = 32; bit > 0;) {
        bit -= 2;
        const float4 mass = mass_from(least, uint4(key) | uint4(1, 2, 3, 3) << bit, peak, bit / 2);
        const uint3 reach = select(uint3(0), uint3(1), mass.xyz >= float3(enough));
        key |= (reach.x + reach.y + reach.z) << bit;
      }
      cut = max(cut, key);
    }
    DrawFrom draw = {max(cut, least), row.cols, inverse, gumbel, {-INFINITY, UINT_MAX}};
    row.visit(draw);
    return draw.best;
  }

  float4 mass_from(uint least, uint4 keys, float peak, uint turn) const {
    MassFrom mass = {least, keys, peak, inverse_temperature(), 0.0f};
    row.visit(mass);
    return group_sum<Threads / 32>(mass.sums, memory.ranks.counts[turn % 2], place);
  }
};

}  // namespace metalbench
