// What elements are joined by, four at a time: `first` changes nothing, `finish` gets the count.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

struct Max {
  float4 first() const { return float4(-INFINITY); }
  float4 join(float4 a, float4 b) const { return max(a, b); }
  float4 finish(float4 v, uint) const { return v; }
};

struct Min {
  float4 first() const { return float4(INFINITY); }
  float4 join(float4 a, float4 b) const { return min(a, b); }
  float4 finish(float4 v, uint) const { return v; }
};

struct Sum {
  float4 first() const { return float4(0.0f); }
  float4 join(float4 a, float4 b) const { return a + b; }
  float4 finish(float4 v, uint) const { return v; }
};

struct Mean {
  float4 first() const { return float4(0.0f); }
  float4 join(float4 a, float4 b) const { return a + b; }
  float4 finish(float4 v, uint count) const { return v / float(count); }
};

}  // namespace metalbench
