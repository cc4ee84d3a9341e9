// metalbench._core: the C++ interfaces as Python classes, and nothing more.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/artifacts.h"
#include "core/device.h"
#include "core/dispatch.h"
#include "core/signature.h"
#include "cpu/front_end.h"

namespace metalbench::bindings {

namespace nb = nanobind;

// What Python holds knows its device, so that arrays can be bound without naming it again.
struct BoundLibrary {
  std::shared_ptr<Device> device;
  std::shared_ptr<Library> library;
};

struct BoundPipeline {
  std::shared_ptr<Device> device;
  std::shared_ptr<const Pipeline> pipeline;
};

struct BoundDispatch {
  std::shared_ptr<Device> device;
  Dispatch dispatch;
};

void define_errors(nb::module_& module);
void define_dispatches(nb::module_& module);
void define_samplers(nb::module_& module);
void define_textures(nb::module_& module, nb::class_<Device>& device);
void define_samples(nb::module_& module);
void define_sampling(nb::module_& module, nb::class_<Device>& device);

// A Python object kept alive from C++ threads: released with the GIL held; never, once Python ends.
[[nodiscard]] std::shared_ptr<void> keep_alive(nb::object object);
// Lets what keep_alive() holds be, from Python's end on.
void release_nothing_at_exit();

// A buffer over a NumPy array's memory where the device allows it, else a copy.
[[nodiscard]] Buffer buffer_from_array(Device& device, const nb::object& array);
[[nodiscard]] nb::object numpy_view(const Buffer& buffer, const nb::object& dtype);
// What a kernel's argument is bound to: a buffer, an array, a scalar or bytes.
[[nodiscard]] Value value_from_python(Device& device, const PipelineInfo& kernel,
                                      const Argument& argument, const nb::object& object);

[[nodiscard]] std::shared_ptr<cpu::FrontEnd> python_front_end();
[[nodiscard]] std::shared_ptr<SignatureReader> python_signatures();
[[nodiscard]] std::shared_ptr<ArtifactCache> python_cache();

// The kinds of device that this machine has, best first.
[[nodiscard]] std::vector<std::string> device_kinds();
// "auto" is the best one. A process has one of each kind. Throws Unsupported.
[[nodiscard]] std::shared_ptr<Device> open_device(const std::string& kind);
[[nodiscard]] nb::dict to_dict(const Facts& facts);

// Lets Python handle signals; true leaves the exception of one set.
[[nodiscard]] InterruptPoll poll_signals();

}  // namespace metalbench::bindings
