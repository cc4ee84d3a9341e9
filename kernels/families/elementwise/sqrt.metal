// One function of every element of a matrix, which the instance names: four elements a thread,
// moved by one load and one store, computed in float whatever their type. Where the textbook's
// formula cancels or overflows, the function is another one (elementary.h).
// dispatch: unary  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// instance: sqrt FUNCTION = 0
// instance: square FUNCTION = 1
// instance: reciprocal FUNCTION = 2
// instance: expm1 FUNCTION = 3
// instance: log1p FUNCTION = 4
// instance: erf FUNCTION = 5
// instance: erfinv FUNCTION = 6
// instance: sin FUNCTION = 7
// instance: cos FUNCTION = 8
// instance: arctan FUNCTION = 9
// instance: arcsinh FUNCTION = 10
// instance: arctanh FUNCTION = 11
// instance: sinh FUNCTION = 12
// instance: log2 FUNCTION = 13
// instance: round FUNCTION = 14
// instance: floor FUNCTION = 15
// instance: sign FUNCTION = 16
// instance: relu_squared FUNCTION = 17
// instance: gelu_tanh FUNCTION = 18
// instance: quick_gelu FUNCTION = 19
// instance: softcap FUNCTION = 20
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/activations.h"
#include "metalbench/elementary.h"
#include "metalbench/elementwise.h"
using namespace metal;
using namespace metalbench;

// max(x, 0)^2
struct ReluSquared {
  template <typename T>
  T operator()(T x) const {
    return Relu()(x) * Relu()(x);
  }
};

// x times the logistic function of 1.702 x
struct QuickGelu {
  template <typename T>
  T operator()(T x) const {
    return x / (1.0f + precise::exp(-1.702f * x));
  }
};

// 30 tanh(x / 30), which keeps logits within bounds.
struct Softcap {
  template <typename T>
  T operator()(T x) const {
    return 30.0f * precise::tanh(x / 30.0f);
  }
};

template <uint Function>
struct Chosen;
template <>
struct Chosen<0> : SquareRoot {};
template <>
struct Chosen<1> : Square {};
template <>
struct Chosen<2> : Reciprocal {};
template <>
struct Chosen<3> : ExpMinusOne {};
template <>
struct Chosen<4> : LogOnePlus {};
template <>
struct Chosen<5> : Erf {};
template <>
struct Chosen<6> : ErfInverse {};
template <>
struct Chosen<7> : Sine {};
template <>
struct Chosen<8> : Cosine {};
template <>
struct Chosen<9> : ArcTangent {};
template <>
struct Chosen<10> : ArcHyperbolicSine {};
template <>
struct Chosen<11> : ArcHyperbolicTangent {};
template <>
struct Chosen<12> : HyperbolicSine {};
template <>
struct Chosen<13> : LogTwo {};
template <>
struct Chosen<14> : Rounded {};
template <>
struct Chosen<15> : Floored {};
template <>
struct Chosen<16> : Sign {};
template <>
struct Chosen<17> : ReluSquared {};
template <>
struct Chosen<18> : GeluTanh {};
template <>
struct Chosen<19> : QuickGelu {};
template <>
struct Chosen<20> : Softcap {};

[[kernel, max_total_threads_per_threadgroup(TG)]] void unary(
    device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
    uint i [[thread_position_in_grid]]) {
  elementwise(Chosen<FUNCTION>(), y, rows * cols, i, x);
}
