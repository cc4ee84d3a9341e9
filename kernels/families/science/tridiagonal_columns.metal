// Tridiagonal systems by Thomas' algorithm, equation i of all systems beside each other: a thread has
// a system, so that every access of a SIMD-group is of whole cache lines. Elimination leaves an upper
// coefficient and a right side of each equation in scratch memory and in the result; substitution
// goes back through them. The matrix must be diagonally dominant, or positive definite: nothing is
// pivoted.
// dispatch: tridiagonal_columns  threads_in_grid=(systems)  threads=(TG)
// scratch: factors float32 (n, systems)
// tune: TG = 64, 128, 256
// dtypes: float32
// limits: n * systems <= 4294967295
#include <metal_stdlib>
using namespace metal;

[[kernel]] void tridiagonal_columns(device const float* lower, device const float* diagonal,
                                    device const float* upper, device const float* right,
                                    device float* factors, device float* y, constant uint& n,
                                    constant uint& systems,
                                    uint system [[thread_position_in_grid]]) {
  float factor = 0.0f, value = 0.0f;
  const uint last = (n - 1) * systems + system;
  // The first equation has no lower coefficient: both are zero before it.
  for (uint i = system; i <= last; i += systems) {
    const float inverse = 1.0f / fma(-lower[i], factor, diagonal[i]);
    value = fma(-lower[i], value, right[i]) * inverse;
    factor = upper[i] * inverse;
    factors[i] = factor;
    y[i] = value;
  }
  for (uint i = last; i >= systems; i -= systems) {
    value = fma(-factors[i - systems], value, y[i - systems]);
    y[i - systems] = value;
  }
}
