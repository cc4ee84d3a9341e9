// Which objects callers have handles of. What was destroyed, or is of another kind, is told from it
// by its address, and never looked at.
#pragma once

#include <mutex>
#include <unordered_set>

namespace metalbench::pjrt {

// The first base of what handles point to. Such objects stay where they are.
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
  // Never destroyed: JAX lets go of its last objects when the process is at its end.
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
