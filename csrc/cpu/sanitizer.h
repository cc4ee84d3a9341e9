// AddressSanitizer marks the frames of functions on entry and unmarks them on return. GPU threads
// that end early never return, so their marks must be cleared.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MB_SANITIZE_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MB_SANITIZE_ADDRESS 1
#endif
#endif

#if defined(MB_SANITIZE_ADDRESS)
extern "C" void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
#define MB_NEVER_RETURNS __attribute__((no_sanitize_address))
#else
#define MB_NEVER_RETURNS
#endif

namespace metalbench::cpu {

inline void forget_frames([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t size) {
#if defined(MB_SANITIZE_ADDRESS)
  __asan_unpoison_memory_region(begin, size);
#endif
}

}  // namespace metalbench::cpu
