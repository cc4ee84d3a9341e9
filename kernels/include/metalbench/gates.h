// Functions of two elements as function objects on float and its vectors: gates of feed-forward
// layers, and arithmetic.
#pragma once
#include "metalbench/activations.h"

namespace metalbench {

// act(a) b
template <typename Activation>
struct Gated {
  template <typename T>
  T operator()(T a, T b) const {
    return Activation()(a) * b;
  }
};

// log(exp(a) + exp(b)) without either: the larger one, and what the difference leaves.
struct LogAddExp {
  template <typename T>
  T operator()(T a, T b) const {
    const T top = select(b, a, a > b || isnan(a));
    const T gap = abs(a - b);
    return select(top + log_one_plus_exp_minus(gap), top, isinf(top) || isnan(top));
  }
};

// NaN if either is, which Metal's own drops.
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return select(b, a, a > b || isnan(a));
  }
};

// a - b floor(a / b) to one rounding: with the sign of b, as in Python.
struct Remainder {
  template <typename T>
  T operator()(T a, T b) const {
    const T r = fmod(a, b);
    return select(r, r + b, r != T(0.0f) && (r < T(0.0f)) != (b < T(0.0f)));
  }
};

struct Power {
  template <typename T>
  T operator()(T a, T b) const {
    return precise::pow(a, b);
  }
};

struct Quotient {
  template <typename T>
  T operator()(T a, T b) const {
    return a / b;
  }
};

struct ArcTangentOfTwo {
  template <typename T>
  T operator()(T a, T b) const {
    return precise::atan2(a, b);
  }
};

}  // namespace metalbench
