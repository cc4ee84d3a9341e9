// metalbench._core: Python classes for the C++ interfaces.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/artifacts.h"
#include "core/device.h"
#include "core/dispatch.h"
#include "core/signature.h"
#include "cpu/front_end.h"
#include "executor/host.h"

namespace metalbench::bindings {

namespace nb = nanobind;

// Python objects refer to their device, so that arrays can be bound without a device argument.
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
void define_texels(nb::module_& module);
void define_samples(nb::module_& module);
void define_findings(nb::module_& module);
void define_sampling(nb::module_& module, nb::class_<Device>& device);
void define_executors(nb::module_& module);
void define_execution_plans(nb::module_& module);

// Keep a Python object alive from C++ threads: it is released with the GIL held, and never after
// Python has ended.
[[nodiscard]] std::shared_ptr<void> keep_alive(nb::object object);
// Stop releasing the objects of keep_alive() when Python ends.
void release_nothing_at_exit();

// Check memory against the argument's type. `dtype` is NumPy's name of the element type; plain
// bytes (none, or uint8) fit every type.
void check_memory(const PipelineInfo& kernel, const Argument& argument, const std::string& dtype,
                  std::size_t size);
[[nodiscard]] Element element_of(const Argument& argument);
[[nodiscard]] const char* numpy_name(Element element);
// Return whether a constant is one number, not a vector or a struct.
[[nodiscard]] bool is_single_number(const Argument& argument);
[[noreturn]] void reject_type(const PipelineInfo& kernel, const Argument& argument,
                              const std::string& what);
[[noreturn]] void reject_value(const PipelineInfo& kernel, const Argument& argument,
                               const std::string& what);

// Convert a number of Python or NumPy to a constant. Throws DispatchError if it does not fit its
// type.
[[nodiscard]] Bytes bytes_of_number(const PipelineInfo& kernel, const Argument& argument,
                                    const nb::object& number);
// Convert NumPy scalars and arrays without axes to Python numbers; return other objects unchanged.
[[nodiscard]] nb::object plain_number(const nb::object& number);
// Convert an integer-like object such as numpy.int64 to a Python integer; invalid for other
// objects.
[[nodiscard]] nb::object integer_of(const nb::handle& object);
// Return a number from 0 to 2^32 - 1; nothing for other objects.
[[nodiscard]] std::optional<std::uint32_t> count_of(const nb::handle& object);
// Return a value's repr for errors, shortened; `described` adds its type.
[[nodiscard]] std::string repr_of(const nb::handle& object);
[[nodiscard]] std::string described(const nb::handle& object);

[[nodiscard]] std::string dtype_name(const nb::handle& array);
// Return NumPy's name for the stored type of a texture channel.
[[nodiscard]] const char* dtype_of(Channel channel);
[[nodiscard]] Bytes bytes_of(const nb::object& object);
// Make a buffer on a NumPy array's memory where the device allows it, or on a copy.
[[nodiscard]] Buffer buffer_from_array(Device& device, const nb::object& array);
[[nodiscard]] nb::object numpy_view(const Buffer& buffer, const nb::object& dtype);
// Convert a kernel's argument: a buffer, an array, a scalar or bytes.
[[nodiscard]] Value value_from_python(Device& device, const PipelineInfo& kernel,
                                      const Argument& argument, const nb::object& object);

// With `gpu`, kernels are compiled to PTX.
[[nodiscard]] std::shared_ptr<cpu::FrontEnd> python_front_end(bool gpu);
[[nodiscard]] std::shared_ptr<SignatureReader> python_signatures();
[[nodiscard]] std::shared_ptr<ArtifactCache> python_cache();

// Return the host of executors for this process's cpu device; null if kernels run in this process.
[[nodiscard]] std::shared_ptr<executor::Host> executor_host();

// Return the device kinds of this machine; `auto` takes the first.
[[nodiscard]] std::vector<std::string> device_kinds();
// Open a device; "auto" takes the best one. A process has at most one of each kind. Throws
// Unsupported.
[[nodiscard]] std::shared_ptr<Device> open_device(const std::string& kind);
[[nodiscard]] nb::dict to_dict(const Facts& facts);

// Find Python's main thread, also in later forks of this process.
void note_main_thread();
// Return a poll that lets Python handle signals; true means that it has set an exception.
[[nodiscard]] InterruptPoll poll_signals();

}  // namespace metalbench::bindings
