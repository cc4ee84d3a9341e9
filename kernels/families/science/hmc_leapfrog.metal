// Trajectories of Hamiltonian Monte Carlo for many chains of a logistic regression of 16 weights: eight
// leapfrog steps, and the energies before and after them, whose difference decides about acceptance. A thread has a
// chain, whose weights and momenta stay in registers. The data pass through threadgroup memory, from
// which all lanes read the same point, so that memory is read once for TG chains and a step.
// dispatch: hmc_leapfrog  threadgroups=(ceil_div(chains, TG))  threads=(TG)
// tune: TG = 128, 64, 256
// defaults: cpu TG = 64
// dtypes: float32
// limits: dims == 16, steps == 8
#include "metalbench/activations.h"
#include "metalbench/inlined.h"
using namespace metal;
using namespace metalbench;

constant constexpr uint DIMS = 16;
constant constexpr uint POINTS = 64;  // that pass at a time

struct Data {
  float4 x[POINTS][DIMS / 4];
  float labels[POINTS];
};

struct Chain {
  float4 weights[DIMS / 4];
  float4 momenta[DIMS / 4];

  static float square(thread const float4 (&v)[DIMS / 4]) {
    float sum = 0.0f;
    UNROLLED
    for (uint k = 0; k < DIMS / 4; ++k) {
      sum += dot(v[k], v[k]);
    }
    return sum;
  }

  // Adds minus `step` times the gradient to the momenta; returns the energy before it with WithEnergy.
  template <bool WithEnergy>
  INLINED float kick(float step, device const float* x, device const uchar* labels, uint points,
                     threadgroup Data& data, uint thread_index) {
    float energy = WithEnergy ? 0.5f * square(weights) : 0.0f;
    float4 gradient[DIMS / 4];
    UNROLLED
    for (uint k = 0; k < DIMS / 4; ++k) {
      gradient[k] = weights[k];  // of the prior
    }
    for (uint start = 0; start < points; start += POINTS) {
      const uint count = min(POINTS, points - start);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint i = thread_index; i < count * (DIMS / 4); i += TG) {
        data.x[i / (DIMS / 4)][i % (DIMS / 4)] = ((device const float4*)x)[start * (DIMS / 4) + i];
      }
      for (uint i = thread_index; i < count; i += TG) {
        data.labels[i] = float(labels[start + i]);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint i = 0; i < count; ++i) {
        float4 products = 0.0f;
        UNROLLED
        for (uint k = 0; k < DIMS / 4; ++k) {
          products = fma(data.x[i][k], weights[k], products);
        }
        const float logit = (products.x + products.y) + (products.z + products.w);
        const float label = data.labels[i];
        if (WithEnergy) {
          energy += Softplus()(logit) - label * logit;
        }
        const float rate = Sigmoid()(logit) - label;
        UNROLLED
        for (uint k = 0; k < DIMS / 4; ++k) {
          gradient[k] = fma(rate, data.x[i][k], gradient[k]);
        }
      }
    }
    UNROLLED
    for (uint k = 0; k < DIMS / 4; ++k) {
      momenta[k] = fma(-step, gradient[k], momenta[k]);
    }
    return energy;
  }

  INLINED void drift(float step) {
    UNROLLED
    for (uint k = 0; k < DIMS / 4; ++k) {
      weights[k] = fma(step, momenta[k], weights[k]);
    }
  }
};

[[kernel]] void hmc_leapfrog(device const float* x, device const uchar* labels,
                             device const float* weights, device const float* momenta,
                             device float* y_weights, device float* y_momenta, device float* energies,
                             constant uint& points, constant uint& chains, constant uint& steps,
                             constant float& step, uint at [[thread_position_in_grid]],
                             uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup Data data;
  const uint from = min(at, chains - 1);
  Chain chain;
  UNROLLED
  for (uint d = 0; d < DIMS; ++d) {
    // check: allow registers weights, momenta and gradient of a chain are 48 of them
    chain.weights[d / 4][d % 4] = weights[d * chains + from];
    chain.momenta[d / 4][d % 4] = momenta[d * chains + from];
  }
  float before = 0.5f * Chain::square(chain.momenta);
  before += chain.kick<true>(0.5f * step, x, labels, points, data, thread_index);
  for (uint i = 0; i + 1 < steps; ++i) {
    chain.drift(step);
    chain.kick<false>(step, x, labels, points, data, thread_index);
  }
  chain.drift(step);
  float after = chain.kick<true>(0.5f * step, x, labels, points, data, thread_index);
  after += 0.5f * Chain::square(chain.momenta);
  if (at >= chains) {
    return;
  }
  UNROLLED
  for (uint d = 0; d < DIMS; ++d) {
    y_weights[d * chains + at] = chain.weights[d / 4][d % 4];
    y_momenta[d * chains + at] = chain.momenta[d / 4][d % 4];
  }
  energies[at] = before;
  energies[chains + at] = after;
}
