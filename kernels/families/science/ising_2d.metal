// Two sweeps of the Ising model on a torus, by Metropolis' rule: cells are coloured as a
// checkerboard, and those of one colour have no neighbours of their own colour, so that all of them
// change at once. A random word is a function of its number (Threefry, metalbench/threefry.h), which
// gives two words at a time: a thread has four cells of a row and those half of the rows below.
// Probabilities are compared as whole numbers, so that the spins are the same on every device.
// dispatch: first_black  threads_in_grid=(cols / 4, rows / 2)  threads=(TG, 1)
// dispatch: first_white  threads_in_grid=(cols / 4, rows / 2)  threads=(TG, 1)
// dispatch: second_black  threads_in_grid=(cols / 4, rows / 2)  threads=(TG, 1)
// dispatch: second_white  threads_in_grid=(cols / 4, rows / 2)  threads=(TG, 1)
// scratch: other int8 (rows, cols)
// tune: TG = 64, 128, 256
// defaults: cpu TG = 256
// dtypes: float32
// limits: sweeps == 2, rows % 2 == 0, cols % 4 == 0, rows * cols <= 4294967295
#include "metalbench/inlined.h"
#include "metalbench/threefry.h"
using namespace metal;
using namespace metalbench;

struct Lattice {
  uint rows;
  uint quads;  // of a row
  uint2 keys;
  uint2 thresholds;  // accept a word below x where two neighbours more agree than differ, y if four

  // Turns cells of a quad with an even or an odd column, the first by words.x, the second by words.y.
  INLINED void turn(device const char4* from, device char4* to, uint row, uint quad, bool is_odd,
                    uint2 words) const {
    device const char4* line = from + row * quads;
    const char4 own = line[quad];
    const char4 above = from[(row == 0 ? rows - 1 : row - 1) * quads + quad];
    const char4 below = from[(row + 1 == rows ? 0 : row + 1) * quads + quad];
    const char before = line[quad == 0 ? quads - 1 : quad - 1].w;
    const char after = line[quad + 1 == quads ? 0 : quad + 1].x;
    const char4 near = above + below + char4(before, own.xyz) + char4(own.yzw, after);
    const int4 aligned = int4(own * near);
    const uint4 most = select(uint4(thresholds.y), uint4(thresholds.x), aligned == 2);
    const bool4 is_accepted = aligned <= 0 || words.xxyy < most;
    const bool4 is_turned = is_accepted && bool4(!is_odd, is_odd, !is_odd, is_odd);
    to[row * quads + quad] = select(own, char4(-own), is_turned);
  }
};

// Turns the cells of a colour, those with row + column = Half in the remainder of 2.
template <uint Half>
INLINED static void turn_half(device const char* from, device char* to, Lattice lattice, uint2 at) {
  const uint lines = lattice.rows / 2, count = 2 * lattice.quads * lines;
  const uint first = 2 * (at.y * lattice.quads + at.x);
  const uint2 words = threefry(uint2(first, first + count), lattice.keys);
  const uint2 more = threefry(uint2(first + 1, first + 1 + count), lattice.keys);
  device const char4* spins = (device const char4*)from;
  device char4* turned = (device char4*)to;
  const uint row = at.y, far = at.y + lines;
  lattice.turn(spins, turned, row, at.x, (row + Half) % 2 == 1, uint2(words.x, more.x));
  lattice.turn(spins, turned, far, at.x, (far + Half) % 2 == 1, uint2(words.y, more.y));
}

#define HALF_SWEEP(name, from, to, half_sweep)                                                  \
  [[kernel]] void name(device const char* from, device char* to, device const uint* keys,       \
                       constant uint& rows, constant uint& cols, constant uint& accept_two,     \
                       constant uint& accept_four, uint2 at [[thread_position_in_grid]]) {      \
    const uint2 own_keys = {keys[2 * half_sweep], keys[2 * half_sweep + 1]};                    \
    const Lattice lattice = {rows, cols / 4, own_keys, uint2(accept_two, accept_four)};         \
    turn_half<half_sweep>(from, to, lattice, at);                                               \
  }

HALF_SWEEP(first_black, spins, other, 0)
HALF_SWEEP(first_white, other, y, 1)
HALF_SWEEP(second_black, y, other, 2)
HALF_SWEEP(second_white, other, y, 3)
