#include "cuda/device.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "core/errors.h"
#include "cuda/chip.h"
#include "cuda/library.h"
#include "cuda/mirror.h"
#include "cuda/nvml.h"
#include "cuda/program.h"
#include "cuda/queue.h"

namespace metalbench::cuda {
namespace {

// Resolution of events, from the reference of cuEventElapsedTime.
constexpr double event_tick_ns = 500;
constexpr double hz_per_khz = 1e3;

std::string name_of(const Gpu& gpu) {
  std::array<char, 256> name{};
  gpu.check(gpu.driver().cuDeviceGetName(name.data(), name.size(), gpu.number()),
            "read the GPU's name");
  return name.data();
}

std::string bus_of(const Gpu& gpu) {
  std::array<char, 64> text{};
  gpu.check(gpu.driver().cuDeviceGetPCIBusId(text.data(), text.size(), gpu.number()),
            "read the GPU's bus");
  return text.data();
}

// 12040 is 12.4.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Facts capabilities_of(const Gpu& gpu) {
  std::size_t bytes = 0;
  gpu.check(gpu.driver().cuDeviceTotalMem_v2(&bytes, gpu.number()), "read the GPU's memory");
  Facts facts;
  facts["architecture"] = gpu.architecture();
  facts["driver_cuda_version"] = version_text(gpu.driver_version());
  facts["memory_bytes"] = static_cast<std::int64_t>(bytes);
  facts["l2_bytes"] = std::int64_t{gpu.attribute(attribute::l2_bytes)};
  facts["clock_hz"] = gpu.attribute(attribute::clock_khz) * hz_per_khz;
  facts["memory_clock_hz"] = gpu.attribute(attribute::memory_clock_khz) * hz_per_khz;
  facts["memory_bus_bits"] = std::int64_t{gpu.attribute(attribute::memory_bus_bits)};
  return facts;
}

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<cpu::FrontEnd> front_end, std::shared_ptr<ArtifactCache> cache)
      : front_end_(std::move(front_end)),
        cache_(std::move(cache)),
        gpu_(std::make_shared<const Gpu>()),
        nvml_(open_nvml(bus_of(*gpu_))),
        empty_(gpu_, cache_, empty_kernel(), "empty") {
    info_.kind = "cuda";
    info_.name = name_of(*gpu_);
    info_.chip = chip_of(info_.name);
    info_.cores = static_cast<std::uint32_t>(gpu_->attribute(attribute::multiprocessors));
    info_.own_clock = true;
    info_.capabilities = capabilities_of(*gpu_);
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] std::shared_ptr<Library> compile(const std::string& source,
                                                 const CompileOptions& options) override {
    if (options.checked || options.counted) {
      throw Unsupported(std::string("cuda: ") + (options.checked ? "checked" : "counted") +
                        " builds run on the `cpu` device; open that one for them");
    }
    CompileOptions own = options;
    own.architecture = gpu_->architecture();
    return make_library(gpu_, cache_, front_end_->parse(source, own), own);
  }

  [[nodiscard]] std::shared_ptr<Storage> allocate(std::size_t size) override {
    return make_mirror(gpu_, size);
  }

  [[nodiscard]] std::shared_ptr<Storage> wrap(std::span<std::byte> memory,
                                              std::shared_ptr<void> owner) override {
    return wraps_.wrap(gpu_, memory, std::move(owner));
  }

  [[nodiscard]] std::unique_ptr<Program> prepare(std::span<const Dispatch> dispatches) override {
    return make_program(gpu_, dispatches, nullptr);
  }

  [[nodiscard]] std::unique_ptr<Program> prepare_null(
      std::span<const Dispatch> dispatches) override {
    return make_program(gpu_, dispatches, &empty_);
  }

  [[nodiscard]] std::shared_ptr<Queue> make_queue(bool /*checked*/) override {
    return cuda::make_queue(gpu_);
  }

  [[nodiscard]] double tick_ns() const override { return event_tick_ns; }

  [[nodiscard]] Facts state() const override { return nvml_ == nullptr ? Facts{} : nvml_->state(); }

  [[nodiscard]] std::string lost() const override { return gpu_->lost(); }

  void make_ready() override { gpu_->use(); }

 private:
  std::shared_ptr<cpu::FrontEnd> front_end_;
  std::shared_ptr<ArtifactCache> cache_;
  std::shared_ptr<const Gpu> gpu_;
  std::unique_ptr<Nvml> nvml_;
  WrappedMemory wraps_;
  Modules empty_;
  DeviceInfo info_;
};

}  // namespace

std::string why_absent() { return find_driver().why_absent; }

std::shared_ptr<Device> make_device(std::shared_ptr<cpu::FrontEnd> front_end,
                                    std::shared_ptr<ArtifactCache> cache) {
  return std::make_shared<CudaDevice>(std::move(front_end), std::move(cache));
}

}  // namespace metalbench::cuda
