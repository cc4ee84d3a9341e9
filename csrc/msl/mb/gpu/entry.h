// Entry point of a kernel for each thread of a GPU.
#pragma once

#include "../attributes.h"

namespace mb {

template <class Kernel>
MB_FUNC void run_thread(const Launch& launch) {
  Place place;
  if (!find_place(launch, place)) return;
  typename Kernel::All bounds(&launch, arena());
  bounds.template call<Kernel::body>(place);
}

}  // namespace mb

// In sources with address spaces, clang emits only variables that a function uses.
#define MB_INFO(needs_fibers, max_threads)                                          \
  extern "C" [[gnu::visibility("default"), gnu::used]] const mb::Info mb_info =     \
      mb_kernel::info(needs_fibers, max_threads);
#define MB_ENTRIES(needs_fibers)                                                    \
  MB_EXPORT __attribute__((nvptx_kernel)) void mb_entry(const mb::Launch launch) {  \
    (void)&mb_info;                                                                 \
    mb::run_thread<mb_kernel>(launch);                                              \
  }
