// Which devices there are, and what they tell of themselves.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "bindings/bindings.h"
#include "core/errors.h"
#include "cpu/device.h"
#include "executor/device.h"
#include "metal/device.h"

namespace metalbench::bindings {
namespace {

// Why METALBENCH_DEVICES leaves the Metal device out: it names the devices that a process may use,
// with commas, where not all can be trusted. Empty where it does not. The cpu device always is
// there.
std::string why_left_out() {
  const char* const value = std::getenv("METALBENCH_DEVICES");
  if (value == nullptr || *value == '\0') return "";
  std::istringstream names(value);
  bool named = false;
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "cpu" && name != "metal") {
      throw DispatchError("METALBENCH_DEVICES: expected cpu, metal or metal,cpu, got " +
                          std::string(value));
    }
    named |= name == "metal";
  }
  if (named) return "";
  return "left out by METALBENCH_DEVICES=" + std::string(value) +
         "; unset it, or use the `cpu` device";
}

std::shared_ptr<Device> make_device(const std::string& kind) {
  if (kind == "cpu") {
    if (auto host = executor_host()) {
      return executor::make_device(python_front_end(), host, executor::Sharing::source);
    }
    return cpu::make_device(python_front_end());
  }
  if (kind == "metal") return metal::make_device(python_cache(), python_signatures());
  throw DispatchError("device: expected auto, cpu or metal, got " + kind);
}

}  // namespace

std::vector<std::string> device_kinds() {
  if (why_left_out().empty() && metal::why_absent().empty()) return {"metal", "cpu"};
  return {"cpu"};
}

std::shared_ptr<Device> open_device(const std::string& kind) {
  // One of each is enough for a process: they own workers, queues, caches.
  static std::map<std::pair<std::string, executor::Host*>, std::weak_ptr<Device>> opened;
  const std::string chosen = kind == "auto" ? device_kinds().front() : kind;
  if (chosen == "metal" && !why_left_out().empty()) throw Unsupported("metal: " + why_left_out());
  // The device keeps its host, so that no other one is where this was.
  std::weak_ptr<Device>& known = opened[{chosen, executor_host().get()}];
  std::shared_ptr<Device> device = known.lock();
  if (device == nullptr) known = device = make_device(chosen);
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
