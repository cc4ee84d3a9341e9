#include "cuda/nvml.h"

#include <dlfcn.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace metalbench::cuda {
namespace {

using Handle = struct nvmlDevice_st*;

// NVML's public reference: nvmlClockType_t, nvmlTemperatureSensors_t.
constexpr int clock_sm = 1;
constexpr int clock_memory = 2;
constexpr int sensor_gpu = 0;
constexpr double hz_per_mhz = 1e6;

// nvmlClocksEventReasons.
constexpr std::pair<std::uint64_t, const char*> reasons[] = {
    {0x1, "idle"},
    {0x2, "application clocks"},
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "software thermal slowdown"},
    {0x40, "hardware thermal slowdown"},
    {0x80, "power brake"},
    {0x100, "display clocks"},
};

class LoadedNvml final : public Nvml {
 public:
  explicit LoadedNvml(void* library) : library_(library) {}

  [[nodiscard]] bool open(const std::string& bus) {
    return call("nvmlInit_v2") && call("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &handle_);
  }

  [[nodiscard]] Facts state() const override {
    Facts facts;
    unsigned value = 0;
    if (call("nvmlDeviceGetClockInfo", handle_, clock_sm, &value)) {
      facts["sm_clock_hz"] = value * hz_per_mhz;
    }
    if (call("nvmlDeviceGetClockInfo", handle_, clock_memory, &value)) {
      facts["memory_clock_hz"] = value * hz_per_mhz;
    }
    if (call("nvmlDeviceGetTemperature", handle_, sensor_gpu, &value)) {
      facts["temperature_c"] = static_cast<double>(value);
    }
    if (call("nvmlDeviceGetPowerUsage", handle_, &value)) facts["power_w"] = value / 1e3;
    unsigned long long bits = 0;
    if (call("nvmlDeviceGetCurrentClocksThrottleReasons", handle_, &bits)) {
      std::vector<std::string> named;
      for (const auto& [bit, name] : reasons) {
        if ((bits & bit) != 0) named.push_back(name);
      }
      facts["throttle_reasons"] = std::move(named);
    }
    return facts;
  }

 private:
  // Return whether the library has the function and its call succeeds.
  template <typename... Arguments>
  [[nodiscard]] bool call(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    return function != nullptr && function(arguments...) == 0;
  }

  void* library_;
  Handle handle_ = nullptr;
};

}  // namespace

std::unique_ptr<Nvml> open_nvml(const std::string& bus) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto nvml = std::make_unique<LoadedNvml>(library);
  if (!nvml->open(bus)) return nullptr;
  return nvml;
}

}  // namespace metalbench::cuda
