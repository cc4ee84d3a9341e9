// Description that a kernel's shared object exports.
#pragma once

#define MB_INFO_ENTRY(name, has_fibers, max_threads)                       \
  MB_EXPORT MB_NOT_SHADOWED const mb::Info* mb_info##name() {              \
    static mb::Info info = mb_kernel##name::info(has_fibers, max_threads); \
    info.threadgroup_bytes = mb::threadgroup_end - mb::threadgroup_begin;  \
    return &info;                                                          \
  }
#define MB_INFO(needs_fibers, max_threads)                                    \
  extern const bool mb_has_fibers = needs_fibers || MB_CHECKED || MB_COUNTED; \
  MB_INFO_ENTRY(, mb_has_fibers, max_threads)
