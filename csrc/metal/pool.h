#pragma once

#include <exception>
#include <optional>
#include <utility>

namespace metalbench::metal {

// Run a function in a separate autorelease pool. Unlike @autoreleasepool alone, the pool is also
// drained when the function throws.
template <typename Run>
auto with_pool(const Run& run) {
  std::optional<decltype(run())> result;
  std::exception_ptr failure;
  @autoreleasepool {
    try {
      result.emplace(run());
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return std::move(*result);
}

}  // namespace metalbench::metal
