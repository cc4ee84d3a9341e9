// Which devices there are, and what they tell of themselves.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "bindings/bindings.h"
#include "core/errors.h"
#include "cpu/device.h"
#include "metal/device.h"

namespace metalbench::bindings {
namespace {

std::shared_ptr<Device> make_device(const std::string& kind) {
  if (kind == "cpu") return cpu::make_device(python_front_end());
  if (kind == "metal") return metal::make_device(python_cache(), python_signatures());
  throw DispatchError("device: expected auto, cpu or metal, got " + kind);
}

}  // namespace

std::vector<std::string> device_kinds() {
  if (metal::why_absent().empty()) return {"metal", "cpu"};
  return {"cpu"};
}

std::shared_ptr<Device> open_device(const std::string& kind) {
  // One of each is enough for a process: they own workers, queues, caches.
  static std::map<std::string, std::weak_ptr<Device>> opened;
  const std::string chosen = kind == "auto" ? device_kinds().front() : kind;
  std::shared_ptr<Device> device = opened[chosen].lock();
  if (device == nullptr) {
    device = make_device(chosen);
    opened[chosen] = device;
  }
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
