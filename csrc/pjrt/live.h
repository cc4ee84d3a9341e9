// Registry of live objects. A handle of a destroyed object, or of another kind of object, is
// detected by its address and never dereferenced.
#pragma once

#include <mutex>
#include <unordered_set>

namespace metalbench::pjrt {

// First base class of objects with handles. These objects are not movable.
template <class Of>
class Live {
 public:
  [[nodiscard]] static bool is(const void* handle) {
    const std::lock_guard lock(mutex());
    return all().contains(handle);
  }

  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

 protected:
  Live() {
    const std::lock_guard lock(mutex());
    all().insert(this);
  }
  ~Live() {
    const std::lock_guard lock(mutex());
    all().erase(this);
  }

 private:
  // Never destroyed: JAX releases its last objects when the process exits.
  static std::mutex& mutex() {
    static auto* const one = new std::mutex;
    return *one;
  }
  static std::unordered_set<const void*>& all() {
    static auto* const one = new std::unordered_set<const void*>;
    return *one;
  }
};

}  // namespace metalbench::pjrt
