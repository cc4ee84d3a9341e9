#pragma once

#import <Foundation/Foundation.h>

#include <exception>
#include <utility>

namespace metalbench::metal {

// Runs `work` with an autorelease pool of its own. An exception that passes the end of an
// @autoreleasepool leaves the pool undrained; here it is thrown again behind it.
template <class Work>
auto in_pool(Work&& work) -> decltype(work()) {
  std::exception_ptr failure;
  @autoreleasepool {
    try {
      return std::forward<Work>(work)();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  std::rethrow_exception(failure);
}

}  // namespace metalbench::metal
