// Objects of Python that C++ holds on to, on whatever thread.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

namespace metalbench::pjrt {

// The module that does what this library is asked for.
inline constexpr const char* kRuntime = "metalbench.hlo.plugin.runtime";

// Whether Python can still be asked: JAX lets go of its last objects when it is at its end.
[[nodiscard]] bool python_runs();
// Whether this library was imported as a module, without which it cannot ask Python anything.
[[nodiscard]] bool is_imported();
void set_imported();

// Released with the GIL; never, once Python ends.
class Held {
 public:
  Held() = default;
  explicit Held(nanobind::object object) : object_(object.release()) {}
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, {})) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { release(); }

  void release();
  // With the GIL held.
  [[nodiscard]] nanobind::object get() const { return nanobind::borrow(object_); }

 private:
  nanobind::handle object_;
};

}  // namespace metalbench::pjrt
