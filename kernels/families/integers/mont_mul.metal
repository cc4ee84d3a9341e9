// Montgomery products of numbers of some hundred bits modulo a prime, element by element: x y R^-1. A
// thread a pair, whose limbs of 32 bits are in registers (metalbench/prime_field.h): 2 n^2 + n
// products of limbs for 96 to 144 bytes of memory.
// dispatch: mont_mul  threads_in_grid=(n)  threads=(TG)
// instance: bn254_scalar PRIME = 0
// instance: bls12_base PRIME = 1
// tune: TG = 128, 32, 64, 256
// limits: n <= 4294967295
#include "metalbench/prime_field.h"
using namespace metal;
using namespace metalbench;

#if PRIME == 0
using Number = Residue<Bn254Scalar>;
#else
using Number = Residue<Bls12Base>;
#endif

[[kernel, max_total_threads_per_threadgroup(TG)]] void mont_mul(
    device const uint* x, device const uint* y, device uint* z, uint i [[thread_position_in_grid]]) {
  const ulong at = ulong(i) * Number::kLimbs;
  (Number::load(x + at) * Number::load(y + at)).store(z + at);
}
