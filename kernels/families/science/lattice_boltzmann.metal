// Four steps of the lattice Boltzmann method with nine velocities in the plane (D2Q9). A thread has a
// cell: it fetches the populations that move into the cell and relaxes them towards their
// equilibrium, so that a step reads and writes each population once. Walls are halfway between cells:
// what would come out of a solid cell is what the cell itself sent there (bounce-back). Opposite
// borders are neighbours.
// dispatch: step_1  threads_in_grid=(cols, rows)  threads=(TG, 1)
// dispatch: step_2  threads_in_grid=(cols, rows)  threads=(TG, 1)
// dispatch: step_3  threads_in_grid=(cols, rows)  threads=(TG, 1)
// dispatch: step_4  threads_in_grid=(cols, rows)  threads=(TG, 1)
// scratch: odd float32 (9, rows, cols)
// scratch: even float32 (9, rows, cols)
// tune: TG = 64, 128, 256
// dtypes: float32
// limits: steps == 4, 9 * rows * cols <= 4294967295
#include "metalbench/inlined.h"
#include <metal_stdlib>
using namespace metal;

// Velocity i and velocity OPPOSITE[i] cancel.
constant constexpr int X[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
constant constexpr int Y[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
constant constexpr uint OPPOSITE[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
constant constexpr float WEIGHTS[9] = {4.0f / 9,  1.0f / 9,  1.0f / 9,  1.0f / 9, 1.0f / 9,
                                       1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};

INLINED static void advance(device const float* from, device const uchar* solid, device float* to,
                            uint rows, uint cols, float omega, uint2 at) {
  const uint cell = at.y * cols + at.x, cells = rows * cols;
  const bool is_solid = solid[cell] != 0;
  // The neighbours with lower and with higher coordinates.
  const uint columns[3] = {at.x == 0 ? cols - 1 : at.x - 1, at.x, at.x + 1 == cols ? 0 : at.x + 1};
  const uint lines[3] = {at.y == 0 ? rows - 1 : at.y - 1, at.y, at.y + 1 == rows ? 0 : at.y + 1};
  float f[9];
  float density = 0.0f;
  float2 momentum = 0.0f;
  UNROLLED
  for (uint i = 0; i < 9; ++i) {
    const uint source = lines[1 - Y[i]] * cols + columns[1 - X[i]];
    const bool is_own = is_solid || solid[source] != 0;
    const uint population = is_solid ? i : (is_own ? OPPOSITE[i] : i);
    f[i] = from[population * cells + (is_own ? cell : source)];
    density += f[i];
    momentum += f[i] * float2(X[i], Y[i]);
  }
  const float2 velocity = momentum / density;
  const float rest = fma(-1.5f, dot(velocity, velocity), 1.0f);
  UNROLLED
  for (uint i = 0; i < 9; ++i) {
    const float along = dot(float2(X[i], Y[i]), velocity);
    const float equilibrium = WEIGHTS[i] * density * (rest + along * fma(4.5f, along, 3.0f));
    to[i * cells + cell] = is_solid ? f[i] : fma(omega, equilibrium - f[i], f[i]);
  }
}

#define STEP(name, from, to)                                                                      \
  [[kernel]] void name(device const float* from, device const uchar* solid, device float* to,     \
                       constant uint& rows, constant uint& cols, constant float& omega,           \
                       uint2 at [[thread_position_in_grid]]) {                                    \
    advance(from, solid, to, rows, cols, omega, at);                                              \
  }

STEP(step_1, f, odd)
STEP(step_2, odd, even)
STEP(step_3, even, odd)
STEP(step_4, odd, y)
