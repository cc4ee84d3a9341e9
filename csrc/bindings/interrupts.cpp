#include "bindings/bindings.h"

namespace metalbench::bindings {

InterruptPoll poll_signals() {
  return [] {
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
  };
}

std::shared_ptr<void> keep_alive(nb::object object) {
  auto* held = new nb::object(std::move(object));
  return {held, [](void* pointer) {
            const nb::gil_scoped_acquire gil;
            delete static_cast<nb::object*>(pointer);
          }};
}

}  // namespace metalbench::bindings
