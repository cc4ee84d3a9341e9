// Objects on the heap: a count of the owners in front of each.
#pragma once

#include "runtime/abi.h"

#pragma GCC visibility push(hidden)

namespace metal_double::runtime {

struct alignas(16) Header {
  std::atomic<std::int64_t> owners{1};
  std::atomic<bool> weakly_referenced{false};
};

[[nodiscard]] inline Header& header_of(Object* object) {
  return reinterpret_cast<Header*>(object)[-1];
}

[[nodiscard]] inline Storage storage_of(const Object* object) { return object->isa->info->storage; }

// Zeroed, with the C++ instance variables constructed and one owner.
[[nodiscard]] Object* allocate(Class* type);
// Destructs the C++ instance variables and frees the memory.
void dispose(Object* object);
[[nodiscard]] std::int64_t owner_count(Object* object);
// Whether the object had an owner still.
[[nodiscard]] bool retain_if_owned(Object* object);

template <class Result, class... Arguments>
Result call(Implementation implementation, Object* self, Selector selector, Arguments... rest) {
  using Function = Result (*)(Object*, Selector, Arguments...);
  return reinterpret_cast<Function>(implementation)(self, selector, rest...);
}

}  // namespace metal_double::runtime

extern "C" {
metal_double::runtime::Object* objc_retain(metal_double::runtime::Object* object);
void objc_release(metal_double::runtime::Object* object);
metal_double::runtime::Object* objc_autorelease(metal_double::runtime::Object* object);
metal_double::runtime::Object* _Block_copy(metal_double::runtime::Object* block);
void _Block_release(metal_double::runtime::Object* block);
}

#pragma GCC visibility pop
