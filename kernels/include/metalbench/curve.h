// Points of the curve y^2 = x^3 + 3 (BN254) in projective coordinates (X : Y : Z), Z = 0 at
// infinity, with numbers in Montgomery's form. Addition is the complete formula of Renes, Costello
// and Batina (2016, algorithm 7): it has no exceptions for equal points, opposite ones or infinity,
// so that lanes take the same way.
#pragma once
#include "metalbench/prime_field.h"

namespace metalbench {

using CurveNumber = Residue<Bn254Base>;

struct CurvePoint {
  CurveNumber x, y, z;

  static CurvePoint infinity() {
    return {CurveNumber::zero(), CurveNumber::one(), CurveNumber::zero()};
  }

  INLINED CurvePoint operator+(CurvePoint other) const {
    CurveNumber xx = x * other.x;
    const CurveNumber yy = y * other.y;
    CurveNumber zz = z * other.z;
    const CurveNumber xy = x.unreduced_sum(y) * other.x.unreduced_sum(other.y) - (xx + yy);
    const CurveNumber yz = y.unreduced_sum(z) * other.y.unreduced_sum(other.z) - (yy + zz);
    const CurveNumber xz =
        times_nine(x.unreduced_sum(z) * other.x.unreduced_sum(other.z) - (xx + zz));
    xx = (xx + xx).unreduced_sum(xx);
    zz = times_nine(zz);
    const CurveNumber sum = yy.unreduced_sum(zz), difference = yy - zz;
    return {xy * difference - yz * xz, difference * sum + xz * xx, sum * yz + xx * xy};
  }

  // The point that lane number `lane` of the SIMD-group has.
  CurvePoint from_lane(uint lane) const {
    return {from_lane(x, lane), from_lane(y, lane), from_lane(z, lane)};
  }

 private:
  // Three times the curve's constant.
  INLINED static CurveNumber times_nine(CurveNumber a) {
    CurveNumber doubled = a + a;
    doubled = doubled + doubled;
    return doubled + doubled + a;
  }

  static CurveNumber from_lane(CurveNumber number, uint lane) {
    UNROLLED
    for (uint i = 0; i < CurveNumber::kLimbs; ++i) {
      number.limbs[i] = simd_shuffle(number.limbs[i], ushort(lane));
    }
    return number;
  }
};

}  // namespace metalbench
