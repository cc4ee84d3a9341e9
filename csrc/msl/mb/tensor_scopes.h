// The threads that execute a tensor operation together.
#pragma once

#include "simdgroup.h"
#include "traits.h"

namespace metal {

template <int count>
struct execution_threads {
  static_assert(count > 0, "a scope has threads");
  static constexpr int static_size = count;
  static constexpr int size() { return count; }
};
using execution_thread = execution_threads<1>;

template <int count>
struct execution_simdgroups {
  static_assert(count > 0, "a scope has SIMD-groups");
  static constexpr int static_size = count;
  static constexpr int size() { return count; }
};
using execution_simdgroup = execution_simdgroups<1>;

// Their number is known at run time.
struct execution_dthreads {
  int mb_count = 1;
  MB_FUNC constexpr execution_dthreads(int count) : mb_count(count) {}
  MB_FUNC constexpr int size() const { return mb_count; }
};
struct execution_dsimdgroups {
  int mb_count = 1;
  MB_FUNC constexpr execution_dsimdgroups(int count) : mb_count(count) {}
  MB_FUNC constexpr int size() const { return mb_count; }
};

}  // namespace metal

namespace mb {

// Return the number of this thread's SIMD-group in its threadgroup.
MB_FUNC u32 own_simdgroup() {
#if MB_GPU
  const u32 width = __nvvm_read_ptx_sreg_ntid_x(), height = __nvvm_read_ptx_sreg_ntid_y();
  const u32 x = __nvvm_read_ptx_sreg_tid_x(), y = __nvvm_read_ptx_sreg_tid_y();
  return ((__nvvm_read_ptx_sreg_tid_z() * height + y) * width + x) / simd_width;
#elif MB_VECTOR
  const u32 number = mb_vector_simdgroup();
  __builtin_assume(number < max_threads / simd_width);
  return number;
#else
  return current()->index / simd_width;
#endif
}

template <class Scope>
struct scope_traits {
  static_assert(sizeof(Scope) == 0,
                "this engine has the scopes execution_thread and execution_simdgroups<N>");
};
template <>
struct scope_traits<metal::execution_threads<1>> {
  static constexpr int threads = 1;
  static constexpr bool is_simdgroup = false;
  MB_FUNC static int thread() { return 0; }
};
template <int count>
struct scope_traits<metal::execution_simdgroups<count>> {
  static constexpr int threads = count * int(simd_width);
  static constexpr bool is_simdgroup = count == 1;
  // The number of a thread among those of the scope.
  MB_FUNC static int thread() {
    if constexpr (count == 1)
      return int(lane());
    else
      return int(own_simdgroup() * simd_width + lane());
  }
};

}  // namespace mb
