#pragma once

#include <exception>
#include <optional>
#include <utility>

namespace metalbench::metal {

// Runs it with an autorelease pool of its own, which is drained also when it throws:
// @autoreleasepool by itself is not.
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
