// What windows over an input do in each direction, as types: how many taps, how far apart outputs
// and taps are, how many zeros are around. From these follow the geometry of a convolution
// (Forward) and of a transposed one (Backward) in up to three dimensions; where there is no
// direction it is Once. Steps are templates, so that what is divided by is known when compiling.
#pragma once
#include <metal_stdlib>

#include "metalbench/divisor.h"
#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// More: what a transposed convolution adds at the end.
template <uint Taps, uint Stride = 1, uint Padding = 0, uint Dilation = 1, uint More = 0>
struct Along {
  static constant constexpr uint kTaps = Taps;
  static constant constexpr uint kStride = Stride;
  static constant constexpr uint kPadding = Padding;
  static constant constexpr uint kDilation = Dilation;
  // Each output is of the input at the same place: there is no such direction.
  static constant constexpr bool kIsOnce = Taps == 1 && Stride == 1 && Padding == 0 && More == 0;
  // Outputs of n inputs.
  static uint outputs(uint n) { return (n + 2 * Padding - Dilation * (Taps - 1) - 1) / Stride + 1; }
  static uint transposed(uint n) {
    return (n - 1) * Stride + Dilation * (Taps - 1) + 1 + More - 2 * Padding;
  }
};

using Once = Along<1>;

// How many directions there are: z is the first that is left out.
template <typename Z, typename Y>
constexpr uint dimensions() {
  return !Z::kIsOnce ? 3 : !Y::kIsOnce ? 2 : 1;
}

// The place in Wide x High taps of the one with this number.
template <uint High, uint Wide>
inline uint3 tap_of(uint index) {
  return uint3(index % Wide, index / Wide % High, index / (Wide * High));
}

// Output o takes tap k from input o Stride - Padding + k Dilation.
template <typename Z, typename Y, typename X>
struct Forward {
  static constant constexpr uint kDimensions = dimensions<Z, Y>();
  static constant constexpr uint kPhases = 1;
  static constant constexpr uint kDeep = Z::kTaps;
  static constant constexpr uint kHigh = Y::kTaps;
  static constant constexpr uint kWide = X::kTaps;
  // No tap lies outside the input.
  static constant constexpr bool kInside = Z::kPadding + Y::kPadding + X::kPadding == 0;

  static Forward of(uint) { return {}; }
  uint3 taps() const { return uint3(X::kTaps, Y::kTaps, Z::kTaps); }
  uint3 tap(uint index) const { return tap_of<Y::kTaps, X::kTaps>(index); }
  // From one tap to the next.
  int3 step() const { return int3(X::kDilation, Y::kDilation, Z::kDilation); }
  uint filter_tap(uint3 tap) const { return (tap.z * Y::kTaps + tap.y) * X::kTaps + tap.x; }
  uint3 whole(uint3 n) const { return uint3(X::outputs(n.x), Y::outputs(n.y), Z::outputs(n.z)); }
  uint3 own(uint3 n) const { return whole(n); }
  uint3 blocks(uint3 n) const { return whole(n); }
  uint3 output(uint3 at) const { return at; }
  // Where the first tap of an output lies.
  int3 first(uint3 at) const {
    return int3(at * uint3(X::kStride, Y::kStride, Z::kStride)) -
           int3(X::kPadding, Y::kPadding, Z::kPadding);
  }
};

// One direction of a transposed convolution: w[k] x[i] is part of output i Stride + k Dilation -
// Padding. Outputs of one *phase*, the remainder of output + Padding by Stride, take the same taps,
// every kEvery-th from `first` on, of inputs kMove apart: each phase gathers what reaches it and
// multiplies no zeros. Where Stride and Dilation have a common divisor, some phases have no taps.
template <typename A>
struct PhaseAlong {
  static constexpr uint divisor(uint a, uint b) { return b == 0 ? a : divisor(b, a % b); }
  static constant constexpr uint kCommon = divisor(A::kStride, A::kDilation);
  static constant constexpr uint kEvery = A::kStride / kCommon;
  static constant constexpr uint kMove = A::kDilation / kCommon;
  uint first;
  uint taps;
  uint skipped;  // places before the first output, which padding cuts off
  int base;      // from an output's place to the input of its first tap

  static PhaseAlong of(uint remainder) {
    uint first = A::kTaps;
    UNROLLED
    for (uint k = 0; k < kEvery; ++k) {
      first = k * A::kDilation % A::kStride == remainder ? min(k, first) : first;
    }
    const uint taps = first < A::kTaps ? (A::kTaps - first + kEvery - 1) / kEvery : 0;
    const uint skipped = (max(A::kPadding, remainder) - remainder + A::kStride - 1) / A::kStride;
    const int base = (int(remainder) - int(first * A::kDilation)) / int(A::kStride);
    return {first, taps, skipped, base + int(skipped)};
  }

  // A divisor by `taps`: one of two constants, as phases differ by one tap at most.
  Divisor divisor() const {
    constexpr uint fewest = A::kTaps / kEvery;
    return taps > fewest ? Divisor::of(fewest + 1) : Divisor::of(fewest);
  }

  // Of n outputs, those of the phase.
  uint own(uint n, uint remainder) const {
    const uint end = (n + A::kPadding + A::kStride - 1 - remainder) / A::kStride;
    return max(end, skipped) - skipped;
  }
};

template <typename Z, typename Y, typename X>
struct Backward {
  static constant constexpr uint kDimensions = dimensions<Z, Y>();
  static constant constexpr uint kPhases = X::kStride * Y::kStride * Z::kStride;
  static constant constexpr uint kDeep = Z::kTaps;
  static constant constexpr uint kHigh = Y::kTaps;
  static constant constexpr uint kWide = X::kTaps;
  static constant constexpr bool kInside = false;
  uint3 remainder;
  PhaseAlong<X> x;
  PhaseAlong<Y> y;
  PhaseAlong<Z> z;
  // The phase's taps in a line, and its lines in a plane.
  Divisor wide;
  Divisor high;

  static Backward of(uint phase) {
    const uint3 remainder =
        uint3(phase % X::kStride, phase / X::kStride % Y::kStride, phase / X::kStride / Y::kStride);
    const PhaseAlong<X> x = PhaseAlong<X>::of(remainder.x);
    const PhaseAlong<Y> y = PhaseAlong<Y>::of(remainder.y);
    const PhaseAlong<Z> z = PhaseAlong<Z>::of(remainder.z);
    return {remainder, x, y, z, x.divisor(), y.divisor()};
  }

  uint3 taps() const {
    return kPhases == 1 ? uint3(X::kTaps, Y::kTaps, Z::kTaps) : uint3(x.taps, y.taps, z.taps);
  }
  uint3 tap(uint index) const {
    if (kPhases == 1) {
      return tap_of<Y::kTaps, X::kTaps>(index);
    }
    const uint line = wide.quotient(index);
    const uint plane = kDimensions > 2 ? high.quotient(line) : 0;
    return uint3(index - line * wide.value, line - plane * high.value, plane);
  }
  int3 step() const {
    return -int3(PhaseAlong<X>::kMove, PhaseAlong<Y>::kMove, PhaseAlong<Z>::kMove);
  }
  uint filter_tap(uint3 tap) const {
    const uint at_x = x.first + tap.x * PhaseAlong<X>::kEvery;
    const uint at_y = y.first + tap.y * PhaseAlong<Y>::kEvery;
    const uint at_z = z.first + tap.z * PhaseAlong<Z>::kEvery;
    return (at_z * Y::kTaps + at_y) * X::kTaps + at_x;
  }
  uint3 whole(uint3 n) const {
    return uint3(X::transposed(n.x), Y::transposed(n.y), Z::transposed(n.z));
  }
  uint3 own(uint3 n) const {
    const uint3 all = whole(n);
    return uint3(x.own(all.x, remainder.x), y.own(all.y, remainder.y), z.own(all.z, remainder.z));
  }
  // Blocks of Stride outputs in each direction, of which every phase has one.
  uint3 blocks(uint3 n) const { return whole(n) / uint3(X::kStride, Y::kStride, Z::kStride); }
  uint3 output(uint3 at) const {
    const uint3 stride = uint3(X::kStride, Y::kStride, Z::kStride);
    const uint3 place = at + uint3(x.skipped, y.skipped, z.skipped);
    return place * stride + remainder - uint3(X::kPadding, Y::kPadding, Z::kPadding);
  }
  int3 first(uint3 at) const { return int3(at) + int3(x.base, y.base, z.base); }
};

// Forward in a plane, with squares of taps whose number, stride and padding are arguments.
struct SquareForward {
  static constant constexpr uint kDimensions = 2;
  static constant constexpr uint kPhases = 1;
  static constant constexpr uint kDeep = 1;
  static constant constexpr uint kHigh = 1;  // not known
  static constant constexpr bool kInside = false;
  Divisor side;
  uint stride;
  uint padding;

  static SquareForward of(uint taps, uint stride, uint padding) {
    return {Divisor::of(taps), stride, padding};
  }

  uint3 taps() const { return uint3(side.value, side.value, 1); }
  uint3 tap(uint index) const {
    const uint line = side.quotient(index);
    return uint3(index - line * side.value, line, 0);
  }
  int3 step() const { return int3(1); }
  uint3 whole(uint3 n) const { return uint3((n.xy + 2 * padding - side.value) / stride + 1, n.z); }
  uint3 own(uint3 n) const { return whole(n); }
  uint3 blocks(uint3 n) const { return whole(n); }
  uint3 output(uint3 at) const { return at; }
  int3 first(uint3 at) const {
    return int3(at) * int3(int2(int(stride)), 1) - int3(int2(int(padding)), 0);
  }
};

// Backward of SquareForward, for one phase of images of `extents` pixels, which may have more of
// them at the end than windows reach.
struct SquareBackward {
  static constant constexpr uint kDimensions = 2;
  static constant constexpr uint kPhases = 0;  // not known
  static constant constexpr uint kDeep = 1;
  static constant constexpr uint kHigh = 1;  // not known
  static constant constexpr bool kInside = false;
  uint side;
  uint stride;
  uint padding;
  uint2 extents;
  uint2 remainder;  // of a pixel's place and the padding by the stride: the phase's first tap
  uint2 skipped;    // places before the first pixel, which padding cuts off
  uint2 own_taps;
  Divisor wide;

  static SquareBackward of(uint taps, uint stride, uint padding, uint2 extents, uint phase) {
    const uint2 remainder = uint2(phase % stride, phase / stride);
    const uint2 skipped = (max(uint2(padding), remainder) - remainder + stride - 1) / stride;
    const uint2 own = (max(uint2(taps), remainder) - remainder + stride - 1) / stride;
    return {taps, stride, padding, extents, remainder, skipped, own, Divisor::of(own.x)};
  }

  uint3 taps() const { return uint3(own_taps, 1); }
  uint3 tap(uint index) const {
    const uint line = wide.quotient(index);
    return uint3(index - line * wide.value, line, 0);
  }
  int3 step() const { return int3(-1); }
  uint filter_tap(uint3 tap) const {
    const uint2 at = remainder + tap.xy * stride;
    return at.y * side + at.x;
  }
  uint3 whole(uint3 n) const { return uint3(extents, n.z); }
  uint3 own(uint3 n) const {
    const uint2 end = (extents + padding + stride - 1 - remainder) / stride;
    return uint3(max(end, skipped) - skipped, n.z);
  }
  uint3 blocks(uint3 n) const { return uint3(extents / stride, n.z); }
  uint3 output(uint3 at) const {
    return uint3((at.xy + skipped) * stride + remainder - padding, at.z);
  }
  int3 first(uint3 at) const { return int3(at) + int3(int2(skipped), 0); }
};

}  // namespace metalbench
