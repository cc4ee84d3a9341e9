// Functions on double, which Metal's language does not have: only kernels for `cpu` and `cuda`
// include this file. The engine's compiler needs the option __METALBENCH_DOUBLE__ for it, and
// literals with the suffix L are of type double.
//
// Errors are below 1 ulp, if a function's comment does not say otherwise. Coefficients named
// "fdlibm" are those that Sun Microsystems published with fdlibm 5.3, with the intervals on which
// they hold. The code is not fdlibm's: both sides of a branch are computed where they are short,
// because branches diverge.
#pragma once
#include "stablehlo.h"

namespace shlo {

inline double fabs(double x) { return __builtin_fabs(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline double ceil(double x) { return __builtin_ceil(x); }
inline double trunc(double x) { return __builtin_trunc(x); }
inline double rint(double x) { return __builtin_rint(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline double rsqrt(double x) { return 1.0L / __builtin_sqrt(x); }
inline double copysign(double x, double sign) { return __builtin_copysign(x, sign); }
inline bool isnan(double x) { return x != x; }
inline bool isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
inline bool isfinite(double x) { return __builtin_fabs(x) < __builtin_inf(); }
// A NaN is the smaller and the larger of no numbers, as with Metal's fmin and fmax.
inline double fmin(double a, double b) { return a < b || isnan(b) ? a : b; }
inline double fmax(double a, double b) { return a > b || isnan(b) ? a : b; }
// Halves away from zero. The number added is the largest below one half.
inline double round(double x) { return trunc(x + copysign(0.49999999999999994L, x)); }

inline double maximum(double a, double b) {
  const double zero = as_type<double>(as_type<ulong>(a) & as_type<ulong>(b));
  const double found = a == b ? zero : a > b ? a : b;
  return isnan(a) | isnan(b) ? as_type<double>(0x7ff8000000000000ul) : found;
}
inline double minimum(double a, double b) {
  const double zero = as_type<double>(as_type<ulong>(a) | as_type<ulong>(b));
  const double found = a == b ? zero : a < b ? a : b;
  return isnan(a) | isnan(b) ? as_type<double>(0x7ff8000000000000ul) : found;
}
inline double sign(double x) { return isnan(x) || x == 0.0L ? x : x < 0.0L ? -1.0L : 1.0L; }

inline long total_order(double x) {
  const long bits = as_type<long>(x);
  return bits < 0 ? long(0x8000000000000000ul - ulong(bits)) - 1 : bits;
}

template <typename T>
T to_integer(double x, double least, double beyond, T low, T high) {
  if (isnan(x)) return T(0);
  if (x < least) return low;
  return x >= beyond ? high : T(x);
}

// Rounds to a float whose last bit is set if it is not exact. Rounding that to a shorter format
// gives the double, rounded once.
inline float to_odd_float(double x) {
  const float nearest = float(x);
  if (double(nearest) == x || isnan(x)) return nearest;
  const uint bits = as_type<uint>(nearest);
  const bool is_above = __builtin_fabs(double(nearest)) > __builtin_fabs(x);
  return as_type<float>((is_above ? bits - 1u : bits) | 1u);
}

inline double reduce_precision(double x, int exponent_bits, int mantissa_bits) {
  // Without bits of the mantissa there is no NaN.
  if (isnan(x)) return mantissa_bits > 0 ? x : copysign(__builtin_inf(), x);
  ulong bits = as_type<ulong>(x);
  if (mantissa_bits < 52) {
    const ulong last = (bits >> (52 - mantissa_bits)) & 1ul;
    bits += (1ul << (51 - mantissa_bits)) - 1ul + last;
    bits &= ~((1ul << (52 - mantissa_bits)) - 1ul);
  }
  if (exponent_bits < 11) {
    const ulong bias = (1ul << (exponent_bits - 1)) - 1ul;
    const ulong sign = bits & 0x8000000000000000ul, exponent = bits & 0x7ff0000000000000ul;
    if (exponent > (1023ul + bias) << 52) bits = sign | 0x7ff0000000000000ul;
    if (exponent <= (1023ul - bias) << 52) bits = sign;
  }
  return as_type<double>(bits);
}

// Powers of two, and numbers as a product of one with a number near one.

// For -1022 <= n <= 1023.
inline double power_of_two(int n) { return as_type<double>(ulong(n + 1023) << 52); }

inline int exponent_bits_of(double x) { return int(as_type<ulong>(x) >> 52) & 0x7ff; }

// Only the last product of these may be subnormal and rounds.
inline double ldexp(double x, int n) {
  if (n > 1023) {
    x *= power_of_two(1023);
    n -= 1023;
    if (n > 1023) {
      x *= power_of_two(1023);
      n = n - 1023 > 1023 ? 1023 : n - 1023;
    }
  } else if (n < -969) {
    x *= power_of_two(-969);
    n += 969;
    if (n < -969) {
      x *= power_of_two(-969);
      n = n + 969 < -1022 ? -1022 : n + 969;
    }
  }
  return x * power_of_two(n);
}
// The fraction is in [1/2, 1).
inline double frexp(double x, thread int& exponent) {
  const bool is_small = exponent_bits_of(x) == 0;
  const double y = is_small ? x * 18014398509481984.0L : x;
  if (x == 0.0L || !isfinite(x)) {
    exponent = 0;
    return x;
  }
  exponent = exponent_bits_of(y) - 1022 - (is_small ? 54 : 0);
  return as_type<double>((as_type<ulong>(y) & 0x800ffffffffffffful) | 0x3fe0000000000000ul);
}

// Sums of two doubles that hold about 106 bits (T. J. Dekker, A floating-point technique for
// extending the available precision, 1971). Products are split, because not every processor has a
// fused multiply-add.
struct DoublePair {
  double high, low;
};
// Needs |a| >= |b|, or a zero.
inline DoublePair sum_of_ordered(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
inline DoublePair sum_of(double a, double b) {
  const double sum = a + b, other = sum - a;
  return {sum, (a - (sum - other)) + (b - other)};
}
inline DoublePair split(double a) {
  const double high = as_type<double>(as_type<ulong>(a) & 0xfffffffff8000000ul);
  return {high, a - high};
}
inline DoublePair product_of(double a, double b) {
  const DoublePair x = split(a), y = split(b);
  const double product = a * b;
  const double error = x.high * y.high - product + x.high * y.low + x.low * y.high;
  return {product, error + x.low * y.low};
}
inline DoublePair times(DoublePair a, DoublePair b) {
  const DoublePair product = product_of(a.high, b.high);
  return sum_of_ordered(product.high, product.low + (a.high * b.low + a.low * b.high));
}
inline DoublePair plus(DoublePair a, DoublePair b) {
  const DoublePair sum = sum_of(a.high, b.high);
  return sum_of_ordered(sum.high, sum.low + (a.low + b.low));
}

// Rounded almost as if once. Products must neither overflow nor underflow.
inline double fma(double a, double b, double c) {
  const DoublePair product = product_of(a, b), sum = sum_of(product.high, c);
  return sum.high + (sum.low + product.low);
}
// The error of the quotient is hardly above the final rounding.
inline DoublePair quotient_of(DoublePair a, DoublePair b) {
  const double quotient = a.high / b.high;
  const DoublePair back = product_of(quotient, b.high);
  const double rest = (a.high - back.high) - back.low + (a.low - quotient * b.low);
  return sum_of_ordered(quotient, rest / b.high);
}

// Exponentials.

// ln 2 as a sum whose first term has 32 bits, so that its products with exponents are exact, and
// the nearest pair of doubles.
constexpr constant double kLogTwoHigh = 0x1.62e42feep-1L;
constexpr constant double kLogTwoLow = 0x1.a39ef35793c76p-33L;
constexpr constant double kInverseLogTwo = 0x1.71547652b82fep+0L;

// The exponential of a + b for |b| far below |a|. x^2 P(x^2) is fdlibm's approximation of
// x (e^x + 1) / (e^x - 1) - 2 on |x| <= ln(2) / 2.
inline double exp_of_sum(double a, double b) {
  // Beyond these bounds the result is infinite or zero.
  const double bounded = a > 710.0L ? 710.0L : a < -746.0L ? -746.0L : isnan(a) ? 0.0L : a;
  const double below = bounded == a ? b : 0.0L;
  const double n = rint(bounded * kInverseLogTwo);
  const double high = bounded - n * kLogTwoHigh, low = n * kLogTwoLow - below;
  const double x = high - low, z = x * x;
  const double p =
      z * (1.66666666666666019037e-01L +
           z * (-2.77777777770155933842e-03L +
                z * (6.61375632143793436117e-05L +
                     z * (-1.65339022054652515390e-06L + z * 4.13813679705723846039e-08L))));
  const double c = x - p;
  const double y = 1.0L - ((low - (x * c) / (2.0L - c)) - high);
  // Two factors: the first product is exact, and the second rounds a subnormal result.
  const int first = int(n) / 2, second = int(n) - first;
  const double found = y * power_of_two(first) * power_of_two(second);
  return isnan(a) ? a : found;
}
inline double exp(double x) { return exp_of_sum(x, 0.0L); }

// z Q(z) for z = x^2 / 2 is fdlibm's approximation of 6 / x ((e^x + 1) / (e^x - 1) - 2 / x) - 1.
inline double expm1(double x) {
  if (isnan(x)) return x;
  if (x < -40.0L) return -1.0L;
  const double bounded = x > 710.0L ? 710.0L : x;
  const double n = fabs(bounded) < 0.34657359027997264L ? 0.0L : rint(bounded * kInverseLogTwo);
  const double high = bounded - n * kLogTwoHigh, low = n * kLogTwoLow;
  const double r = high - low, c = (high - r) - low;
  const double half_r = 0.5L * r, z = r * half_r;
  const double q =
      1.0L + z * (-3.33333333333331316428e-02L +
                  z * (1.58730158725481460165e-03L +
                       z * (-7.93650757867487942473e-05L +
                            z * (4.00821782732936239552e-06L + z * -2.01099218183624371326e-07L))));
  const double t = 3.0L - q * half_r;
  const double e = z * ((q - t) / (6.0L - r * t));
  if (n == 0.0L) return x == 0.0L ? x : r - (r * e - z);
  const double lower = (r * (e - c) - c) - z;
  if (n == -1.0L) return 0.5L * (r - lower) - 0.5L;
  if (n == 1.0L) return r < -0.25L ? -2.0L * (lower - (r + 0.5L)) : 1.0L + 2.0L * (r - lower);
  const int k = int(n);
  const double inverse = k < 1023 ? power_of_two(-k) : 0.0L;
  const double y = k < 20 ? (1.0L - inverse) - (lower - r) : (r - (lower + inverse)) + 1.0L;
  return k <= -2 || k > 56 ? ldexp(1.0L - (lower - r), k) - 1.0L : y * power_of_two(k);
}

// The error is below 2 ulp: most of it is that of the exponential, up to 1.5 times.
inline double tanh(double x) {
  const double size = fabs(x);
  if (isnan(x) || size < 0x1p-28L) return x;
  const bool is_large = size >= 1.0L;
  const double e = expm1(is_large ? 2.0L * size : -2.0L * size);
  const DoublePair below = sum_of(e, 2.0L);
  const double ratio = quotient_of({is_large ? 2.0L : -e, 0.0L}, below).high;
  return copysign(size >= 22.0L ? 1.0L : is_large ? 1.0L - ratio : ratio, x);
}
inline double logistic(double x) {
  if (isnan(x)) return x;
  const double e = exp(-fabs(x));
  return quotient_of({x < 0.0L ? e : 1.0L, 0.0L}, sum_of_ordered(1.0L, e)).high;
}

// Logarithms.

// The exponent n and m - 1 of x = 2^n m for sqrt(1/2) <= m < sqrt(2). x is positive and finite.
inline double reduce_logarithm(double x, thread double& n) {
  const bool is_small = exponent_bits_of(x) == 0;
  const ulong bits = as_type<ulong>(is_small ? x * 18014398509481984.0L : x);
  // The difference to the bits of sqrt(1/2) has the exponent above the 52 bits of the mantissa.
  const ulong offset = bits - 0x3fe6a09e667f3bcdul;
  n = double(int(long(offset) >> 52) - (is_small ? 54 : 0));
  return as_type<double>((offset & 0xffffffffffffful) + 0x3fe6a09e667f3bcdul) - 1.0L;
}
// fdlibm's approximation of log(1 + f) - 2 s for s = f / (2 + f), divided by s.
inline double log_tail(double s) {
  const double z = s * s, w = z * z;
  const double odd = w * (3.999999999940941908e-01L +
                          w * (2.222219843214978396e-01L + w * 1.531383769920937332e-01L));
  const double even = z * (6.666666666666735130e-01L +
                           w * (2.857142874366239149e-01L +
                                w * (1.818357216161805012e-01L + w * 1.479819860511658591e-01L)));
  return odd + even;
}
// log(2^n (1 + f)) + c.
inline double log_of_parts(double n, double f, double c) {
  const double s = f / (2.0L + f), half_square = 0.5L * f * f;
  const double below = s * (half_square + log_tail(s)) + (n * kLogTwoLow + c);
  return n * kLogTwoHigh - ((half_square - below) - f);
}
inline double log(double x) {
  double n;
  const bool is_regular = x > 0.0L && isfinite(x);
  const double f = reduce_logarithm(is_regular ? x : 1.0L, n);
  const double found = log_of_parts(n, f, 0.0L);
  if (is_regular) return found;
  return x == 0.0L              ? -__builtin_inf()
         : x > 0.0L || isnan(x) ? x
                                : as_type<double>(0x7ff8000000000000ul);
}
inline double log1p(double x) {
  if (fabs(x) < 0x1p-53L) return x;
  const double u = 1.0L + x;
  if (!(u > 0.0L && isfinite(u))) return log(u);
  double n;
  double f = reduce_logarithm(u, n);
  // What rounding 1 + x lost, relative to u.
  double c = (x < 1.0L ? x - (u - 1.0L) : 1.0L - (u - x)) / u;
  if (n == 0.0L) f = x;
  if (n == 0.0L || x > 0x1p+54L) c = 0.0L;
  return log_of_parts(n, f, c);
}

// The logarithm of a positive, finite number as a pair with 67 bits: the first two terms of the
// series 2 (s + s^3 / 3 + s^5 / 5 + ...) for s = (m - 1) / (m + 1) are pairs.
inline DoublePair log_pair(double x) {
  double n;
  const double f = reduce_logarithm(x, n);
  const DoublePair below = sum_of_ordered(2.0L, f);
  const DoublePair s = quotient_of({f, 0.0L}, below), z = times(s, s);
  double tail = 1.0L / 29.0L;
  for (int k = 27; k > 3; k -= 2) tail = tail * z.high + 1.0L / double(k);
  const DoublePair third = {0x1.5555555555555p-2L, 0x1.5555555555555p-56L};
  const DoublePair cubic = times(z, third);
  const DoublePair series = sum_of_ordered(cubic.high, cubic.low + z.high * z.high * tail);
  const DoublePair product = times(s, series);
  const DoublePair half_log = plus(s, product);
  const DoublePair whole = {n * kLogTwoHigh, 0.0L};
  const DoublePair low = product_of(n, kLogTwoLow);
  const DoublePair exponent =
      plus(whole, DoublePair{low.high, low.low + n * 0x1.cc01f97b57a08p-87L});
  return plus(exponent, DoublePair{2.0L * half_log.high, 2.0L * half_log.low});
}

inline double pow(double x, double y) {
  if (y == 0.0L || x == 1.0L) return 1.0L;
  if (isnan(x) || isnan(y)) return as_type<double>(0x7ff8000000000000ul);
  const double size = fabs(x);
  const bool is_whole = floor(y) == y;
  const bool is_odd = is_whole && floor(0.5L * y) != 0.5L * y;
  if (isinf(y)) {
    if (size == 1.0L) return 1.0L;
    return (size > 1.0L) == (y > 0.0L) ? __builtin_inf() : 0.0L;
  }
  const bool is_negative = (as_type<ulong>(x) >> 63) != 0ul && is_odd;
  if (x == 0.0L || isinf(x)) {
    const double found = (x == 0.0L) == (y < 0.0L) ? __builtin_inf() : 0.0L;
    return is_negative ? -found : found;
  }
  if (x < 0.0L && !is_whole) return as_type<double>(0x7ff8000000000000ul);
  // Exponents beyond this bound overflow or underflow for each x except 1 and -1.
  const double bounded = fabs(y) > 0x1p+65L ? copysign(0x1p+65L, y) : y;
  const DoublePair logarithm = log_pair(size);
  const DoublePair product = product_of(logarithm.high, bounded);
  const double found = exp_of_sum(product.high, product.low + logarithm.low * bounded);
  return is_negative ? -found : found;
}

// Roots.

// Halley's iteration, from an exponent divided by three. The last step is Newton's from a number
// with 25 bits, whose square is exact. The error is below 0.7 ulp.
inline double cbrt(double x) {
  if (x == 0.0L || !isfinite(x)) return x;
  const bool is_small = exponent_bits_of(x) == 0;
  const double size = is_small ? fabs(x) * 18014398509481984.0L : fabs(x);
  double t = as_type<double>(as_type<ulong>(size) / 3ul + 0x2a9f7893782da1ceul);
  for (int k = 0; k < 3; ++k) {
    const double ratio = size / (t * t) / t;
    t *= (1.0L + 2.0L * ratio) / (2.0L + ratio);
  }
  t = as_type<double>((as_type<ulong>(t) + 0x8000000ul) & 0xfffffffff0000000ul);
  const double r = size / (t * t);
  t += t * ((r - t) / (2.0L * t + r));
  return copysign(is_small ? t / 262144.0L : t, x);
}

// Trigonometric functions.

// The bits of 2 / pi after the binary point, after 64 zeros.
constexpr constant ulong kTwoOverPi[21] = {
    0ul,
    0xa2f9836e4e441529ul,
    0xfc2757d1f534ddc0ul,
    0xdb6295993c439041ul,
    0xfe5163abdebbc561ul,
    0xb7246e3a424dd2e0ul,
    0x06492eea09d1921cul,
    0xfe1deb1cb129a73eul,
    0xe88235f52ebb4484ul,
    0xe99c7026b45f7e41ul,
    0x3991d639835339f4ul,
    0x9c845f8bbdf9283bul,
    0x1ff897ffde05980ful,
    0xef2f118b5a0a6d1ful,
    0x6d367ecf27cb09b7ul,
    0x4f463f669e5fea2dul,
    0x7527bac7ebe5f17bul,
    0x3d0739f78a5292eaul,
    0x6bfb5fb11f8d5d08ul,
    0x56033046fc7b6babul,
    0xf0cfbc209af4361dul,
};

// Reduces a finite |x| >= 2^20 by multiples of pi / 2 (M. H. Payne and R. N. Hanek, Radian
// reduction for trigonometric functions, 1983). The product of the mantissa with those 192 bits of
// 2 / pi that matter modulo 4 is exact; the part that is cut off is below 2^-64 of the result.
inline int reduce_large_angle(double x, thread DoublePair& rest) {
  const ulong bits = as_type<ulong>(x);
  const ulong mantissa = (bits & 0xffffffffffffful) | 0x10000000000000ul;
  // |x| = mantissa 2^shift. Bits of 2 / pi with a weight of at least 4 2^-shift do not matter.
  const int shift = exponent_bits_of(x) - 1075;
  const int first = shift - 2 + 64;
  const int word = first / 64, offset = first % 64;
  ulong window[3];
  for (int k = 0; k < 3; ++k) {
    const ulong next = offset == 0 ? 0ul : kTwoOverPi[word + k + 1] >> (64 - offset);
    window[k] = (kTwoOverPi[word + k] << offset) | next;
  }
  // The product modulo 2^192, as three words, the highest first.
  const ulong low = mantissa * window[2], middle = mantissa * window[1];
  const ulong second = middle + mulhi(mantissa, window[2]);
  const ulong carry = second < middle ? 1ul : 0ul;
  const ulong high = mantissa * window[0] + mulhi(mantissa, window[1]) + carry;
  int quadrant = int(high >> 62);
  // The fraction of the quadrant, as 128 bits; from one half on the next quadrant is nearer.
  ulong upper = (high << 2) | (second >> 62), lower = (second << 2) | (low >> 62);
  const bool is_above = (upper >> 63) != 0ul;
  if (is_above) {
    quadrant += 1;
    lower = ~lower + 1ul;
    upper = ~upper + (lower == 0ul ? 1ul : 0ul);
  }
  // Each double takes bits that it holds exactly: 53, 53 and the rest.
  const int zeros = upper == 0ul ? 64 + int(clz(lower)) : int(clz(upper));
  if (zeros >= 64) {
    upper = zeros < 128 ? lower << (zeros - 64) : 0ul;
    lower = 0ul;
  } else if (zeros > 0) {
    upper = (upper << zeros) | (lower >> (64 - zeros));
    lower <<= zeros;
  }
  const double scale = power_of_two(-zeros);
  const double a = double(upper >> 11) * 0x1p-53L;
  const double b = double(((upper & 0x7fful) << 42) | (lower >> 22)) * 0x1p-106L;
  const DoublePair fraction = sum_of_ordered(a * scale, b * scale);
  const DoublePair angle =
      times(fraction, DoublePair{0x1.921fb54442d18p+0L, 0x1.1a62633145c07p-54L});
  const bool is_negative = is_above != ((bits >> 63) != 0ul);
  rest = {is_negative ? -angle.high : angle.high, is_negative ? -angle.low : angle.low};
  return (bits >> 63) != 0ul ? -quadrant : quadrant;
}

// Returns a quadrant, and the rest of at most pi / 4 as a pair. pi / 2 is a sum of three numbers
// with 33 bits, whose products with quadrants are exact, and a fourth.
inline int reduce_angle(double x, thread DoublePair& rest) {
  if (fabs(x) >= 0x1p+20L) return reduce_large_angle(x, rest);
  const double n = rint(x * 0.63661977236758138L);
  const double first = x - n * 0x1.921fb544p+0L;
  const DoublePair second = sum_of(first, -(n * 0x1.0b4611a6p-34L));
  const DoublePair third = sum_of(second.high, -(n * 0x1.3198a2ep-69L));
  const double low = third.low + second.low - n * 8.4784276603689e-32L;
  rest = sum_of_ordered(third.high, low);
  return int(n);
}

// fdlibm's approximations of the sine and the cosine on |x| <= pi / 4, before the final rounding.
inline DoublePair sine_of_pair(DoublePair angle) {
  const double x = angle.high, z = x * x, cube = z * x;
  const double r = 8.33333333332248946124e-03L +
                   z * (-1.98412698298579493134e-04L +
                        z * (2.75573137070700676789e-06L +
                             z * (-2.50507602534068634195e-08L + z * 1.58969099521155010221e-10L)));
  const double below = z * (0.5L * angle.low - cube * r) - angle.low;
  return sum_of_ordered(x, -(below + cube * 1.66666666666666324348e-01L));
}
inline DoublePair cosine_of_pair(DoublePair angle) {
  const double x = angle.high, z = x * x;
  const double r =
      z * (4.16666666666666019037e-02L +
           z * (-1.38888888888741095749e-03L +
                z * (2.48015872894767294178e-05L +
                     z * (-2.75573143513906633035e-07L +
                          z * (2.08757232129817482790e-09L + z * -1.13596475577881948265e-11L)))));
  const double half_square = 0.5L * z, w = 1.0L - half_square;
  return sum_of_ordered(w, ((1.0L - w) - half_square) + (z * r - x * angle.low));
}
inline double sin(double x) {
  if (!isfinite(x)) return as_type<double>(0x7ff8000000000000ul);
  DoublePair rest;
  const int quadrant = reduce_angle(x, rest);
  const double found = (quadrant & 1) != 0 ? cosine_of_pair(rest).high : sine_of_pair(rest).high;
  return x == 0.0L ? x : (quadrant & 2) != 0 ? -found : found;
}
inline double cos(double x) {
  if (!isfinite(x)) return as_type<double>(0x7ff8000000000000ul);
  DoublePair rest;
  const int quadrant = reduce_angle(x, rest);
  const double found = (quadrant & 1) != 0 ? sine_of_pair(rest).high : cosine_of_pair(rest).high;
  return ((quadrant + 1) & 2) != 0 ? -found : found;
}
inline double tan(double x) {
  if (!isfinite(x)) return as_type<double>(0x7ff8000000000000ul);
  DoublePair rest;
  const bool is_odd = (reduce_angle(x, rest) & 1) != 0;
  const DoublePair sine = sine_of_pair(rest), cosine = cosine_of_pair(rest);
  const double found = quotient_of(is_odd ? cosine : sine, is_odd ? sine : cosine).high;
  return x == 0.0L ? x : is_odd ? -found : found;
}

// x - x^3 P(x^2) is fdlibm's approximation of the arc tangent on |x| <= 7 / 16. A larger number is
// reduced by the angle of a number nearby, which is a pair. The error is below 2 ulp.
inline double atan2(double y, double x) {
  if (isnan(x) || isnan(y)) return as_type<double>(0x7ff8000000000000ul);
  const double up = fabs(y), right = fabs(x);
  const bool is_steep = up > right;
  const double less = is_steep ? right : up, more = is_steep ? up : right;
  // The quotient is at most one.
  const double equal = less == 0.0L ? 0.0L : 1.0L;
  const double q = less == more ? equal : isinf(more) ? 0.0L : less / more;
  const bool near_one = q > 0.6875L, near_half = !near_one && q > 0.4375L;
  const double t = near_one    ? (q - 1.0L) / (q + 1.0L)
                   : near_half ? (2.0L * q - 1.0L) / (2.0L + q)
                               : q;
  const double z = t * t, w = z * z;
  const double even =
      z * (3.33333333333329318027e-01L +
           w * (1.42857142725034663711e-01L +
                w * (9.09088713343650656196e-02L +
                     w * (6.66107313738753120669e-02L +
                          w * (4.97687799461593236017e-02L + w * 1.62858201153657823623e-02L)))));
  const double odd =
      w * (-1.99999999998764832476e-01L +
           w * (-1.11111104054623557880e-01L +
                w * (-7.69187620504482999495e-02L +
                     w * (-5.83357013379057348645e-02L + w * -3.65315727442169155270e-02L))));
  const double high = near_one    ? 0x1.921fb54442d18p-1L
                      : near_half ? 4.63647609000806093515e-01L
                                  : 0.0L;
  const double low = near_one    ? 0x1.1a62633145c07p-55L
                     : near_half ? 2.26987774529616870924e-17L
                                 : 0.0L;
  const double bend = t * (even + odd) - low;
  // The multiple of pi / 2 that remains, whose sum with the angle is rounded once.
  const bool is_left = (as_type<ulong>(x) >> 63) != 0ul;
  const double turns = is_steep ? 1.0L : is_left ? 2.0L : 0.0L;
  const bool is_minus = is_steep != is_left;
  const DoublePair base = sum_of(turns * 0x1.921fb54442d18p+0L, is_minus ? -high : high);
  const DoublePair whole = sum_of(base.high, is_minus ? -t : t);
  const double rest =
      base.low + whole.low + turns * 0x1.1a62633145c07p-54L + (is_minus ? bend : -bend);
  // Zeros and subnormal numbers keep their sign and bits.
  const double found = turns == 0.0L && high == 0.0L ? t - bend : whole.high + rest;
  return copysign(found, y);
}

// The remainder of truncated division, which is exact: long division of the mantissas, ten bits at
// a time.
inline double fmod(double x, double y) {
  if (isnan(x) || isnan(y) || isinf(x) || y == 0.0L) return as_type<double>(0x7ff8000000000000ul);
  const double size = fabs(x), by = fabs(y);
  if (size < by) return x;
  const int small_x = exponent_bits_of(size) == 0 ? 1 : 0,
            small_y = exponent_bits_of(by) == 0 ? 1 : 0;
  const ulong hidden = 0x10000000000000ul, mask = 0xffffffffffffful;
  ulong rest = (as_type<ulong>(size) & mask) | (small_x != 0 ? 0ul : hidden);
  const ulong divisor = (as_type<ulong>(by) & mask) | (small_y != 0 ? 0ul : hidden);
  const int unit = exponent_bits_of(by) + small_y;
  int left = exponent_bits_of(size) + small_x - unit;
  rest %= divisor;
  while (left > 0 && rest != 0ul) {
    const int step = left < 10 ? left : 10;
    rest = (rest << step) % divisor;
    left -= step;
  }
  return copysign(ldexp(double(rest), unit - 1075), x);
}

}  // namespace shlo
