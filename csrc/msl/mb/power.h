// pow and powr, from logarithm and exponential in double.
#pragma once

#include "wide.h"

namespace mb {

// x^y for x >= 0.
MB_FUNC float power_of_size(float x, float y) {
  MB_EXACT
  double exponent = double(y) * wide_log(x);
  double inner = wide_exp(wide_limited(exponent, -200.0, 200.0));
  float value = float(inner);
  // wide_log requires a positive, finite argument.
  bool grows = y > 0.0f;
  value = x == 0.0f ? (grows ? 0.0f : __builtin_inff()) : value;
  value = x == __builtin_inff() ? (grows ? __builtin_inff() : 0.0f) : value;
  return value;
}

MB_FUNC float pow_of(float x, float y) {
  MB_EXACT
  float size = __builtin_fabsf(x), whole = __builtin_truncf(y);
  bool integral = whole == y;
  float half_y = 0.5f * y;
  bool odd = integral && __builtin_truncf(half_y) != half_y;
  float value = power_of_size(size, y);
  bool negative = bits(x) < 0;
  value = negative && odd ? -value : value;
  bool outside = x < 0.0f && !integral && size != __builtin_inff();
  value = x != x || y != y || outside ? __builtin_nanf("") : value;
  value = x == -1.0f && __builtin_fabsf(y) == __builtin_inff() ? 1.0f : value;
  return y == 0.0f || x == 1.0f ? 1.0f : value;
}

MB_FUNC float powr_of(float x, float y) {
  MB_EXACT
  float inf = __builtin_inff();
  float value = power_of_size(x, y);
  bool undefined = x < 0.0f || x != x || y != y || (y == 0.0f && (x == 0.0f || x == inf)) ||
                   (x == 1.0f && (y == inf || y == -inf));
  value = y == 0.0f ? 1.0f : value;
  return undefined ? __builtin_nanf("") : value;
}

}  // namespace mb
