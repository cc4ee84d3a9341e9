#include <cstdint>
#include <vector>

#include "runtime/objects.h"

using namespace metal_double::runtime;

namespace {

// An object that a function returned unowned: the caller that wants to own it takes this entry
// instead of one more count.
constexpr std::uintptr_t returned = 1;

class Pool {
 public:
  ~Pool() { drain_to(0); }

  [[nodiscard]] std::uintptr_t size() const { return entries_.size(); }

  void push(Object* object, std::uintptr_t mark) {
    if (object != nullptr) entries_.push_back(reinterpret_cast<std::uintptr_t>(object) | mark);
  }

  [[nodiscard]] bool take_returned(Object* object) {
    if (entries_.empty()) return false;
    if (entries_.back() != (reinterpret_cast<std::uintptr_t>(object) | returned)) return false;
    entries_.pop_back();
    return true;
  }

  // What is released may itself autorelease.
  void drain_to(std::uintptr_t size) {
    while (entries_.size() > size) {
      auto* const object = reinterpret_cast<Object*>(entries_.back() & ~returned);
      entries_.pop_back();
      objc_release(object);
    }
  }

 private:
  std::vector<std::uintptr_t> entries_;
};

Pool& pool() {
  thread_local Pool only;
  return only;
}

}  // namespace

extern "C" {

std::uintptr_t objc_autoreleasePoolPush() { return pool().size(); }
void objc_autoreleasePoolPop(std::uintptr_t size) { pool().drain_to(size); }

Object* objc_autorelease(Object* object) {
  pool().push(object, 0);
  return object;
}

Object* objc_retainAutorelease(Object* object) { return objc_autorelease(objc_retain(object)); }

Object* objc_autoreleaseReturnValue(Object* object) {
  pool().push(object, returned);
  return object;
}

Object* objc_retainAutoreleaseReturnValue(Object* object) {
  return objc_autoreleaseReturnValue(objc_retain(object));
}

Object* objc_retainAutoreleasedReturnValue(Object* object) {
  if (object == nullptr || pool().take_returned(object)) return object;
  return objc_retain(object);
}

Object* objc_claimAutoreleasedReturnValue(Object* object) {
  return objc_retainAutoreleasedReturnValue(object);
}

Object* objc_unsafeClaimAutoreleasedReturnValue(Object* object) {
  if (object != nullptr && pool().take_returned(object)) objc_release(object);
  return object;
}
}
