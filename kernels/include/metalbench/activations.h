// Activation functions as function objects on float and its vectors: `metalbench::Mish()(v)`, or a
// template parameter of an elementwise kernel or of the epilogue of a matrix product. Element types
// of half width are widened first. NaN stays NaN, and infinities give what the formula's limit or
// IEEE arithmetic says, wherever both agree.
#pragma once
#include "metalbench/exponentials.h"
#include "metalbench/normal_distribution.h"

namespace metalbench {

struct Identity {
  template <typename T>
  T operator()(T x) const {
    return x;
  }
};

struct Relu {
  template <typename T>
  T operator()(T x) const {
    return select(x, T(0.0f), x < T(0.0f));
  }
};

struct LeakyRelu {
  float slope;
  template <typename T>
  T operator()(T x) const {
    return select(x, slope * x, x < T(0.0f));
  }
};

// min(max(x, low), high)
struct Clip {
  float low;
  float high;
  template <typename T>
  T operator()(T x) const {
    return limited(x, low, high);
  }
};

struct HardTanh {
  template <typename T>
  T operator()(T x) const {
    return limited(x, -1.0f, 1.0f);
  }
};

// clamp(x/6 + 1/2, 0, 1): x + 3 is exact where the result is small.
struct HardSigmoid {
  template <typename T>
  T operator()(T x) const {
    return limited((x + 3.0f) * (1.0f / 6), 0.0f, 1.0f);
  }
};

struct HardSwish {
  template <typename T>
  T operator()(T x) const {
    return x * HardSigmoid()(x);
  }
};

// 1 / (1 + exp(-x)): exp may overflow, and 1/inf is the right 0.
struct Sigmoid {
  template <typename T>
  T operator()(T x) const {
    return 1.0f / (1.0f + precise::exp(-x));
  }
};

// x sigmoid(x), also called swish: one division.
struct Silu {
  template <typename T>
  T operator()(T x) const {
    return x / (1.0f + precise::exp(-x));
  }
};

struct Gelu {
  template <typename T>
  T operator()(T x) const {
    return times_normal(x);
  }
};

// x (1 + tanh u) / 2 with u = sqrt(2/pi) (x + 0.044715 x^3), as x times the logistic function of 2
// u: nothing cancels where tanh is close to -1.
struct GeluTanh {
  template <typename T>
  T operator()(T x) const {
    const T u = 1.59576912f * (x + 0.044715f * (x * x * x));
    return x / (1.0f + precise::exp(-u));
  }
};

struct Elu {
  float alpha;
  template <typename T>
  T operator()(T x) const {
    return select(x, alpha * exp_minus_one(x), x < T(0.0f));
  }
};

// elu with the two constants for which mean 0 and variance 1 reproduce themselves from layer to
// layer.
struct Selu {
  template <typename T>
  T operator()(T x) const {
    return select(1.05070099f * x, 1.75809934f * exp_minus_one(x), x < T(0.0f));
  }
};

// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)): exp never overflows.
struct Softplus {
  template <typename T>
  T operator()(T x) const {
    return Relu()(x) + log_one_plus_exp_minus(abs(x));
  }
};

// log(sigmoid(x)) = -softplus(-x), so that nothing cancels on either side.
struct LogSigmoid {
  template <typename T>
  T operator()(T x) const {
    return -Softplus()(-x);
  }
};

// x tanh(softplus(x)): with e = exp(x), tanh(log(1 + e)) = n / (n + 2) for n = e (e + 2). Neither
// tanh nor log, and nothing cancels. Above 20 the quotient is 1.
struct Mish {
  template <typename T>
  T operator()(T x) const {
    const T e = precise::exp(limited(x, -INFINITY, 20.0f));
    const T n = e * (e + 2.0f);
    return x * (n / (n + 2.0f));
  }
};

struct Softsign {
  template <typename T>
  T operator()(T x) const {
    return x / (1.0f + abs(x));
  }
};

struct Tanh {
  template <typename T>
  T operator()(T x) const {
    return precise::tanh(x);
  }
};

}  // namespace metalbench
