// metalbench._core: the C++ interfaces as Python classes, and nothing more.
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
void define_texels(nb::module_& module);
void define_samples(nb::module_& module);
void define_findings(nb::module_& module);
void define_sampling(nb::module_& module, nb::class_<Device>& device);
void define_executors(nb::module_& module);

// A Python object kept alive from C++ threads: released with the GIL held; never, once Python ends.
[[nodiscard]] std::shared_ptr<void> keep_alive(nb::object object);
// Lets what keep_alive() holds be, from Python's end on.
void release_nothing_at_exit();

// Whether memory is what an argument takes it for. `dtype` is NumPy's name of what it consists of;
// plain bytes (none, or uint8) are whatever the kernel makes of them.
void check_memory(const PipelineInfo& kernel, const Argument& argument, const std::string& dtype,
                  std::size_t size);
[[nodiscard]] Element element_of(const Argument& argument);
[[nodiscard]] const char* numpy_name(Element element);
// Whether a constant is one number, and neither a vector nor a struct.
[[nodiscard]] bool is_single_number(const Argument& argument);
[[noreturn]] void reject_type(const PipelineInfo& kernel, const Argument& argument,
                              const std::string& what);
[[noreturn]] void reject_value(const PipelineInfo& kernel, const Argument& argument,
                               const std::string& what);

// A number of Python or NumPy as a constant; throws DispatchError where it does not fit its type.
[[nodiscard]] Bytes bytes_of_number(const PipelineInfo& kernel, const Argument& argument,
                                    const nb::object& number);
// NumPy's scalars and arrays without axes, as Python has them; all else as it is.
[[nodiscard]] nb::object plain_number(const nb::object& number);
// Python's integer for whatever counts as one, such as numpy.int64; not valid for anything else.
[[nodiscard]] nb::object integer_of(const nb::handle& object);
// 0 to 2^32 - 1; nothing for anything else.
[[nodiscard]] std::optional<std::uint32_t> count_of(const nb::handle& object);
// What errors say of a value: its repr, cut short; and that with its type.
[[nodiscard]] std::string repr_of(const nb::handle& object);
[[nodiscard]] std::string described(const nb::handle& object);

[[nodiscard]] std::string dtype_name(const nb::handle& array);
// NumPy's name of what a channel of a texture is stored as.
[[nodiscard]] const char* dtype_of(Channel channel);
[[nodiscard]] Bytes bytes_of(const nb::object& object);
// A buffer over a NumPy array's memory where the device allows it, else a copy.
[[nodiscard]] Buffer buffer_from_array(Device& device, const nb::object& array);
[[nodiscard]] nb::object numpy_view(const Buffer& buffer, const nb::object& dtype);
// What a kernel's argument is bound to: a buffer, an array, a scalar or bytes.
[[nodiscard]] Value value_from_python(Device& device, const PipelineInfo& kernel,
                                      const Argument& argument, const nb::object& object);

// With `gpu` kernels are built as PTX.
[[nodiscard]] std::shared_ptr<cpu::FrontEnd> python_front_end(bool gpu);
[[nodiscard]] std::shared_ptr<SignatureReader> python_signatures();
[[nodiscard]] std::shared_ptr<ArtifactCache> python_cache();

// Where kernels of this process's cpu device run instead of in it; null where they run in it.
[[nodiscard]] std::shared_ptr<executor::Host> executor_host();

// The kinds of device that this machine has; the first is what `auto` takes.
[[nodiscard]] std::vector<std::string> device_kinds();
// "auto" is the best one. A process has one of each kind. Throws Unsupported.
[[nodiscard]] std::shared_ptr<Device> open_device(const std::string& kind);
[[nodiscard]] nb::dict to_dict(const Facts& facts);

// Lets Python handle signals; true leaves the exception of one set.
[[nodiscard]] InterruptPoll poll_signals();

}  // namespace metalbench::bindings
