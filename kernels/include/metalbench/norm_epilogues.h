// What becomes of a normalised row on its way to memory: weights, a bias, a gate, a residual. As
// `put` of norm.h: called with a column and its quad, perhaps beyond the row, where nothing is read
// or stored.
#pragma once
#include "metalbench/activations.h"
#include "metalbench/norm.h"

namespace metalbench {

// y = v (added + weight)
template <typename T>
struct Weighted {
  device T* y;
  device const T* weight;
  uint cols;
  float added;
  void operator()(uint column, float4 v) const {
    if (column < cols) {
      store_quad(y, column, cols, v * (added + load_quad(weight, column, cols)));
    }
  }
};

// y = v weight + bias; the bias of a layer, or the row that a norm is added to.
template <typename T>
struct WeightedAdded {
  device T* y;
  device const T* weight;
  device const T* bias;
  uint cols;
  void operator()(uint column, float4 v) const {
    if (column < cols) {
      const float4 b = load_quad(bias, column, cols);
      store_quad(y, column, cols, fma(v, load_quad(weight, column, cols), b));
    }
  }
};

// y = v weight silu(gate)
template <typename T>
struct WeightedGated {
  device T* y;
  device const T* weight;
  device const T* gate;
  uint cols;
  void operator()(uint column, float4 v) const {
    if (column < cols) {
      const float4 g = Silu()(load_quad(gate, column, cols));
      store_quad(y, column, cols, v * load_quad(weight, column, cols) * g);
    }
  }
};

// y = v scale + shift, each a number.
template <typename T>
struct ScaledShifted {
  device T* y;
  uint cols;
  float scale;
  float shift;
  void operator()(uint column, float4 v) const {
    store_quad(y, column, cols, fma(v, float4(scale), float4(shift)));
  }
};

}  // namespace metalbench
