// Available devices and their description.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "bindings/bindings.h"
#include "core/errors.h"
#include "cpu/device.h"
#include "cuda/device.h"
#include "executor/device.h"
#include "metal/device.h"

namespace metalbench::bindings {
namespace {

// Return why METALBENCH_DEVICES excludes a device. It lists the devices that a process may use,
// separated by commas. The cpu device is always available.
std::string why_left_out(const std::string& kind) {
  const char* const value = std::getenv("METALBENCH_DEVICES");
  if (kind == "cpu" || value == nullptr || *value == '\0') return "";
  std::istringstream names(value);
  bool named = false;
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "cpu" && name != "metal" && name != "cuda") {
      throw DispatchError(
          "METALBENCH_DEVICES: expected cpu, metal, cuda or several with commas, got " +
          std::string(value));
    }
    named |= name == kind;
  }
  if (named) return "";
  return "left out by METALBENCH_DEVICES=" + std::string(value) +
         "; unset it, or use the `cpu` device";
}

std::shared_ptr<Device> make_device(const std::string& kind) {
  if (kind == "cpu") {
    if (auto host = executor_host()) {
      return executor::make_device(python_front_end(false), host, executor::Sharing::source);
    }
    return cpu::make_device(python_front_end(false));
  }
  if (kind == "metal") return metal::make_device(python_cache(), python_signatures());
  if (kind == "cuda") {
    auto front_end = python_front_end(true);
    auto cache = python_cache();
    // The driver takes long to start.
    const nb::gil_scoped_release released;
    return cuda::make_device(front_end, cache);
  }
  throw DispatchError("device: expected auto, cpu, metal or cuda, got " + kind);
}

}  // namespace

std::vector<std::string> device_kinds() {
  std::vector<std::string> kinds = {"cpu"};
  if (why_left_out("metal").empty() && metal::why_absent().empty()) {
    kinds.insert(kinds.begin(), "metal");
  }
  // With an NVIDIA GPU, MLX runs on the CPU unless the user chooses the GPU.
  if (why_left_out("cuda").empty() && cuda::why_absent().empty()) kinds.emplace_back("cuda");
  return kinds;
}

std::shared_ptr<Device> open_device(const std::string& kind) {
  // One of each suffices for a process: devices own workers, queues and caches.
  static std::map<std::pair<std::string, executor::Host*>, std::weak_ptr<Device>> opened;
  const std::string chosen = kind == "auto" ? device_kinds().front() : kind;
  if (const std::string why = why_left_out(chosen); !why.empty()) {
    throw Unsupported(chosen + ": " + why);
  }
  // The device keeps its host alive, so that the address stays unique.
  std::weak_ptr<Device>& known = opened[{chosen, executor_host().get()}];
  std::shared_ptr<Device> device = known.lock();
  if (device != nullptr) return device;
  device = make_device(chosen);
  // Another thread may have opened it meanwhile.
  if (std::shared_ptr<Device> other = known.lock()) return other;
  known = device;
  return device;
}

nb::dict to_dict(const Facts& facts) {
  nb::dict dict;
  for (const auto& [name, fact] : facts) {
    dict[name.c_str()] = std::visit([](const auto& value) { return nb::cast(value); }, fact);
  }
  return dict;
}

}  // namespace metalbench::bindings
