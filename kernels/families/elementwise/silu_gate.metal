// One function of two elements, which the instance names: gates of feed-forward layers, an
// activation of one projection times the other, and arithmetic of matrices. Four elements a thread,
// computed in float whatever their type; nothing but the result is stored.
// dispatch: binary  threads_in_grid=(ceil_div(rows * cols, 4))  threads=(TG)
// instance: silu_gate FUNCTION = 0
// instance: gelu_gate FUNCTION = 1
// instance: sigmoid_gate FUNCTION = 2
// instance: maximum FUNCTION = 3
// instance: remainder FUNCTION = 4
// instance: power FUNCTION = 5
// instance: divide FUNCTION = 6
// instance: arctan2 FUNCTION = 7
// tune: TG = 256, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: rows * cols <= 4294967292
#include "metalbench/elementwise.h"
#include "metalbench/gates.h"
using namespace metal;
using namespace metalbench;

template <uint Function>
struct Chosen;
template <>
struct Chosen<0> : Gated<Silu> {};
template <>
struct Chosen<1> : Gated<GeluTanh> {};
template <>
struct Chosen<2> : Gated<Sigmoid> {};
template <>
struct Chosen<3> : Maximum {};
template <>
struct Chosen<4> : Remainder {};
template <>
struct Chosen<5> : Power {};
template <>
struct Chosen<6> : Quotient {};
template <>
struct Chosen<7> : ArcTangentOfTwo {};

[[kernel, max_total_threads_per_threadgroup(TG)]] void binary(
    device const DTYPE* a, device const DTYPE* b, device DTYPE* y, constant uint& rows,
    constant uint& cols, uint i [[thread_position_in_grid]]) {
  elementwise(Chosen<FUNCTION>(), y, rows * cols, i, a, b);
}
