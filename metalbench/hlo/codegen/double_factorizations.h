// Overloads for double of the functions that factorizations.h calls, only for `cpu` and `cuda`.
// They must be declared before it.
#pragma once
#include "double_complex.h"

namespace shlo {

inline double conjugate(double a) { return a; }
inline double times(double a, double b) { return a * b; }
inline double real_part(double a) { return a; }
inline double real_part(double2 a) { return a.x; }
inline double imaginary_part(double) { return 0.0L; }
inline double imaginary_part(double2 a) { return a.y; }
inline double absolute(double a) { return fabs(a); }
inline double squared(double a) { return a * a; }
inline double squared(double2 a) { return a.x * a.x + a.y * a.y; }
inline double pivot_size(double a) { return fabs(a); }
inline double pivot_size(double2 a) { return fabs(a.x) + fabs(a.y); }
inline double quotient(double a, double b) { return a / b; }
inline double2 quotient(double2 a, double2 b) { return divide(a, b); }
inline double reciprocal(double a) { return 1.0L / a; }
inline double2 reciprocal(double2 a) { return divide(double2(1.0L, 0.0L), a); }
inline void set_real(thread double& number, double a) { number = a; }
inline void set_real(thread double2& number, double a) { number = double2(a, 0.0L); }

// Lanes exchange the two words of a double.
inline double double_of_lane(double value, ushort distance) {
  return as_type<double>(simd_shuffle_xor(as_type<uint2>(value), distance));
}
inline double simd_sum(double value) {
  for (ushort distance = 16; distance > 0; distance /= 2) value += double_of_lane(value, distance);
  return value;
}
inline double simd_max(double value) {
  for (ushort distance = 16; distance > 0; distance /= 2) {
    value = fmax(value, double_of_lane(value, distance));
  }
  return value;
}

}  // namespace shlo
