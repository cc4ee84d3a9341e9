// Complex numbers of two doubles, only for `cpu` and `cuda`.
#pragma once
#include "double_math.h"

#include "complex.h"

namespace shlo {

using double2 = vec<double, 2>;

template <>
struct ComplexParts<double2> {
  using Real = double;
  static double most_exponent() { return 700.0L; }
  static double least_part() { return 1e-307L; }
  static double most_part() { return 1e308L; }
  static double end_of_tanh() { return 20.0L; }
};

inline double2 divide(double2 a, double2 b) { return quotient(a, b); }

}  // namespace shlo
