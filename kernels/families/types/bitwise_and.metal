// One function of two whole numbers, in their own type, which the instance names with the type: bits
// and shifts of 32-bit numbers, quotients and remainders rounded down, products of 64 bits, sums of
// bytes that stop at the type's ends. Four elements a thread (metalbench/typed.h).
// dispatch: binary  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// instance: bitwise_and FUNCTION = 0
// instance: bitwise_or FUNCTION = 1
// instance: bitwise_xor FUNCTION = 2
// instance: left_shift FUNCTION = 3
// instance: right_shift FUNCTION = 4
// instance: floor_divide_int32 FUNCTION = 5
// instance: remainder_int32 FUNCTION = 6
// instance: multiply_int64 FUNCTION = 7
// instance: add_saturated_uint8 FUNCTION = 8
// instance: maximum_int16 FUNCTION = 9
// tune: TG = 256, 128, 512, 1024
// limits: rows * cols <= 4294967292
#include "metalbench/typed.h"
using namespace metal;
using namespace metalbench;

template <uint Function>
struct Chosen;
template <>
struct Chosen<0> {
  using Element = uint;
  template <typename V>
  V operator()(V a, V b) const {
    return a & b;
  }
};
template <>
struct Chosen<1> {
  using Element = uint;
  template <typename V>
  V operator()(V a, V b) const {
    return a | b;
  }
};
template <>
struct Chosen<2> {
  using Element = uint;
  template <typename V>
  V operator()(V a, V b) const {
    return a ^ b;
  }
};
template <>
struct Chosen<3> {
  using Element = uint;
  template <typename V>
  V operator()(V a, V b) const {
    return a << b;
  }
};
template <>
struct Chosen<4> {
  using Element = uint;
  template <typename V>
  V operator()(V a, V b) const {
    return a >> b;
  }
};
// Division of C++ rounds to zero: one less where signs differ and something is left.
template <>
struct Chosen<5> {
  using Element = int;
  template <typename V>
  V operator()(V a, V b) const {
    const V quotient = a / b;
    const V left = a - quotient * b;
    return quotient - select(V(0), V(1), left != V(0) && (left < V(0)) != (b < V(0)));
  }
};
template <>
struct Chosen<6> {
  using Element = int;
  template <typename V>
  V operator()(V a, V b) const {
    const V left = a % b;
    return left + select(V(0), b, left != V(0) && (left < V(0)) != (b < V(0)));
  }
};
template <>
struct Chosen<7> {
  using Element = long;
  // Unsigned products wrap around; those of signed numbers may not.
  long operator()(long a, long b) const { return long(ulong(a) * ulong(b)); }
  long4 operator()(long4 a, long4 b) const { return long4(ulong4(a) * ulong4(b)); }
};
template <>
struct Chosen<8> {
  using Element = uchar;
  template <typename V>
  V operator()(V a, V b) const {
    return addsat(a, b);
  }
};
template <>
struct Chosen<9> {
  using Element = short;
  template <typename V>
  V operator()(V a, V b) const {
    return max(a, b);
  }
};

using Element = Chosen<FUNCTION>::Element;

[[kernel, max_total_threads_per_threadgroup(TG)]] void binary(
    device const Element* a, device const Element* b, device Element* y, constant uint& rows,
    constant uint& cols, uint i [[thread_position_in_grid]]) {
  typed_elements(Chosen<FUNCTION>(), y, rows * cols, i, a, b);
}
