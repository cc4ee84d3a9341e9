// Entry point of a vectorised kernel: mb_lanes runs a SIMD-group, or a part of one, on its fiber.
#pragma once

#include "../attributes.h"

extern "C" {

// Output of metalbench/msl/vectorize from mb_vector_source, for one shape of launch: whether the lanes
// of every call lie along x, and the kernel. Without rows, `positions` are x of all lanes, then y,
// then z, and `live` is the mask of existing lanes.
extern const bool mb_vector_rows;
MB_EMITTED void mb_vector_body(const mb::Launch*, const mb::Group*, mb::u8* arena, mb::u32 index,
                               mb::u32 x, mb::u32 y, mb::u32 z, mb::u32 simdgroup,
                               const mb::u32* positions, mb::u32 live) noexcept;
}

namespace mb {

template <class Kernel>
MB_FUNC void run_lane(const Launch* launch, const Group* group) {
  typename Kernel::All bounds(launch, arena());
  bounds.template call<Kernel::body>(place_of_lane(launch, group));
}

struct Positions {
  using Lanes = u32 __attribute__((ext_vector_type(simd_width)));
  Lanes x, y, z;

  MB_FUNC Positions(u32 first, Dim3 size) {
    Lanes index{};
#pragma clang loop unroll(full)
    for (u32 i = 0; i < simd_width; ++i) index[i] = i;
    index += first;
    const Lanes row = quotient(index, size.x);
    x = index - row * size.x;
    z = quotient(row, size.y);
    y = row - z * size.y;
  }

 private:
  // Exact, because both operands are at most 1024; integer vectors have no division instruction.
  MB_FUNC static Lanes quotient(Lanes a, u32 b) {
    constexpr u32 bits = 20;
    static_assert(max_threads * max_threads <= 1u << bits);
    return a * (((1u << bits) + b - 1) / b) >> bits;
  }
};

MB_FUNC u32 lanes_from(u32 index, u32 threads) {
  const u32 left = threads - index;
  return left < simd_width ? (1u << left) - 1 : ~0u;
}

MB_FUNC void run_lanes(const Launch* launch, const Group* group, const Fiber* fiber) {
  const u32 index = fiber->index;
  const Dim3 at = fiber->position;
  if (mb_vector_rows) {
    mb_vector_body(launch, group, group->arena, index, at.x, at.y, at.z, index / simd_width,
                   nullptr, ~0u);
  } else {
    const Positions positions(index, group->size);
    mb_vector_body(launch, group, group->arena, index, at.x, at.y, at.z, index / simd_width,
                   reinterpret_cast<const u32*>(&positions), lanes_from(index, group->threads));
  }
}

}  // namespace mb

// The kernel for one lane; its name ends in `name`.
#define MB_LANE_ENTRY(name)                                                                   \
  extern "C" [[gnu::used, gnu::visibility("hidden")]] MB_EMITTED void mb_vector_source##name( \
      const mb::Launch* l, const mb::Group* g) {                                              \
    mb::run_lane<mb_kernel##name>(l, g);                                                      \
  }
#define MB_LANES_ENTRY                                                                   \
  MB_EXPORT void mb_lanes(const mb::Launch* l, const mb::Group* g, const mb::Fiber* f) { \
    mb::run_lanes(l, g, f);                                                              \
  }
#define MB_ENTRIES(needs_fibers) MB_LANE_ENTRY() MB_LANES_ENTRY

// One of several kernels in a text, all of which synchronise: they are separated in LLVM IR. Their
// common code follows the last of them.
#define MB_ONE_OF_MANY(name, function, max_threads, ...)                             \
  using mb_kernel##name = mb::Kernel<&function, decltype(&function), ##__VA_ARGS__>; \
  MB_INFO_ENTRY(name, true, max_threads)                                             \
  MB_LANE_ENTRY(name)
#define MB_OF_ALL                         \
  extern const bool mb_has_fibers = true; \
  MB_LANES_ENTRY
