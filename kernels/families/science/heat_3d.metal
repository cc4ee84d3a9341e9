// Four steps of the heat equation in three dimensions, in two dispatches of two steps. A threadgroup
// moves upwards through SPAN planes: a thread has three cells of a column in registers for each of
// the two steps, and planes pass through threadgroup memory. The second step follows the first one
// plane below it, so that memory is read and written once for both.
// dispatch: first_steps  threadgroups=(ceil_div(cols, 28), ceil_div(rows, HIGH - 4), ceil_div(depth, SPAN))  threads=(32, HIGH)
// dispatch: last_steps  threadgroups=(ceil_div(cols, 28), ceil_div(rows, HIGH - 4), ceil_div(depth, SPAN))  threads=(32, HIGH)
// scratch: half_way float32 (depth, rows, cols)
// tune: HIGH = 16, 8
// tune: SPAN = 64, 32, 128
// defaults: cpu HIGH = 8, SPAN = 32
// dtypes: float32, float16, bfloat16
// limits: steps == 4, depth * rows * cols <= 4294967295
#include "metalbench/inlined.h"
#include <metal_stdlib>
using namespace metal;

constant constexpr int STEPS = 2;  // of a dispatch; also the cells that a tile has around its own
constant constexpr uint WIDE = 32;

struct Planes {
  float values[2][STEPS][HIGH][WIDE];  // of this plane and of the one before it
};

template <typename From, typename To>
INLINED static void advance(device const From* from, device To* to, uint3 extents, float rate,
                            threadgroup Planes& planes, uint3 group, uint3 place) {
  const int3 most = int3(extents) - 1;
  const int x = int(group.x * (WIDE - 2 * STEPS) + place.x) - STEPS;
  const int y = int(group.y * (HIGH - 2 * STEPS) + place.y) - STEPS;
  const uint pitch = extents.x * extents.y;
  const uint cell = uint(clamp(y, 0, most.y)) * extents.x + uint(clamp(x, 0, most.x));
  const bool is_stored = all(place.xy >= uint(STEPS)) && place.x < WIDE - STEPS &&
                         place.y < HIGH - STEPS && x <= most.x && y <= most.y;
  // A neighbour beyond the border, where no heat passes, is the cell itself. The same holds at the
  // border of the tile, whose values are wrong after a step and are not stored.
  const uint left = x <= 0 || place.x == 0 ? place.x : place.x - 1;
  const uint right = x >= most.x || place.x == WIDE - 1 ? place.x : place.x + 1;
  const uint up = y <= 0 || place.y == 0 ? place.y : place.y - 1;
  const uint down = y >= most.y || place.y == HIGH - 1 ? place.y : place.y + 1;
  float below[STEPS] = {}, centre[STEPS] = {};
  const int begin = int(group.z * SPAN), end = min(begin + int(SPAN), most.z + 1);
  for (int z = begin - STEPS; z < end + STEPS; ++z) {
    threadgroup auto& own = planes.values[z & 1];
    UNROLLED
    for (int step = 0; step < STEPS; ++step) {
      own[step][place.y][place.x] = centre[step];
    }
    float above = float(from[uint(clamp(z, 0, most.z)) * pitch + cell]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    UNROLLED
    for (int step = 0; step < STEPS; ++step) {
      const float u = centre[step];
      const int at = z - 1 - step;  // the plane of `u`
      const float beside = (own[step][place.y][left] - u) + (own[step][place.y][right] - u);
      const float behind = (own[step][up][place.x] - u) + (own[step][down][place.x] - u);
      const float along = (at <= 0 ? 0.0f : below[step] - u) + (at >= most.z ? 0.0f : above - u);
      below[step] = u;
      centre[step] = above;
      above = fma(rate, beside + behind + along, u);
    }
    const int found = z - STEPS;
    if (is_stored && found >= begin && found < end) {
      to[uint(found) * pitch + cell] = To(above);
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(32 * HIGH)]] void first_steps(
    device const DTYPE* u, device float* half_way, constant uint& depth, constant uint& rows,
    constant uint& cols, constant float& rate, uint3 group [[threadgroup_position_in_grid]],
    uint3 place [[thread_position_in_threadgroup]]) {
  threadgroup Planes planes;
  advance(u, half_way, uint3(cols, rows, depth), rate, planes, group, place);
}

[[kernel, max_total_threads_per_threadgroup(32 * HIGH)]] void last_steps(
    device const float* half_way, device DTYPE* y, constant uint& depth, constant uint& rows,
    constant uint& cols, constant float& rate, uint3 group [[threadgroup_position_in_grid]],
    uint3 place [[thread_position_in_threadgroup]]) {
  threadgroup Planes planes;
  advance(half_way, y, uint3(cols, rows, depth), rate, planes, group, place);
}
