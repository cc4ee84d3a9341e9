// Inverses modulo a prime, in Montgomery's form, 0 of 0: a thread inverts the product of SHARE numbers
// by a power, some 400 products, and finds the inverse of each with three more (Montgomery, 1987).
// The product of those before a number waits in the place of its result, where its thread alone reads
// it. A thread's numbers are as far apart as there are threads, so that lanes read neighbours.
// dispatch: field_inverse  threads_in_grid=(ceil_div(n, SHARE))  threads=(TG)
// tune: SHARE = 8, 1, 4, 16
// tune: TG = 64, 32, 128
// limits: n <= 4294967295
#include "metalbench/prime_field.h"
using namespace metal;
using namespace metalbench;

using Number = Residue<Bn254Scalar>;

[[kernel, max_total_threads_per_threadgroup(TG)]] void field_inverse(
    device const uint* x, device uint* y, constant uint& n,
    uint thread_index [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
  Number before = Number::one();
  ROLLED
  for (uint i = thread_index; i < n; i += threads) {
    const Number number = Number::load(x + ulong(i) * Number::kLimbs);
    before.store(y + ulong(i) * Number::kLimbs);
    if (!number.is_zero()) {
      before = before * number;
    }
  }
  Number inverse = before.inverse();
  const uint last = thread_index + (n - 1 - thread_index) / threads * threads;
  ROLLED
  for (uint i = last;; i -= threads) {
    const ulong at = ulong(i) * Number::kLimbs;
    const Number number = Number::load(x + at);
    Number result = Number::zero();
    if (!number.is_zero()) {
      result = inverse * Number::load(y + at);
      inverse = inverse * number;
    }
    result.store(y + at);
    if (i == thread_index) {
      break;
    }
  }
}
