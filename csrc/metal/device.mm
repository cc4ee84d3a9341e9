#include "metal/device.h"

#import <Metal/Metal.h>

#include <utility>

#include "core/errors.h"
#include "metal/buffer.h"
#include "metal/capabilities.h"
#include "metal/capture.h"
#include "metal/chip.h"
#include "metal/commit_observer.h"
#include "metal/gpu.h"
#include "metal/library.h"
#include "metal/pool.h"
#include "metal/program.h"
#include "metal/queue.h"
#include "metal/thread_qos.h"
#include "metal/tick.h"

namespace metalbench::metal {
namespace {

class MetalDevice final : public Device {
 public:
  MetalDevice(std::shared_ptr<Gpu> gpu, std::shared_ptr<ArtifactCache> cache,
              std::shared_ptr<SignatureReader> reader)
      : gpu_(std::move(gpu)),
        compile_context_{gpu_, std::move(cache), std::move(reader), std::make_shared<Pipelines>()},
        tick_ns_(measure_tick_ns(*gpu_)) {
    const Capabilities& found = gpu_->capabilities();
    info_.kind = "metal";
    info_.name = found.name;
    info_.chip = chip_of(found.name);
    info_.cores = found.cores;
    info_.limits = limits_of(found);
    info_.own_clock = true;
    info_.capabilities = facts_of(found, tick_ns_);
  }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] std::shared_ptr<metalbench::Library> compile(
      const std::string& source, const CompileOptions& options) override {
    return make_library(compile_context_, source, options);
  }

  [[nodiscard]] std::shared_ptr<Storage> allocate(std::size_t size) override {
    return with_pool([&] { return metal::allocate(gpu_, size); });
  }

  [[nodiscard]] std::shared_ptr<Storage> wrap(std::span<std::byte> memory,
                                              std::shared_ptr<void> owner) override {
    return with_pool([&] { return metal::wrap(gpu_, memory, std::move(owner)); });
  }

  [[nodiscard]] std::unique_ptr<Program> prepare(std::span<const Dispatch> dispatches) override {
    return with_pool([&] { return make_program(gpu_, dispatches); });
  }

  [[nodiscard]] std::unique_ptr<Program> prepare_null(
      std::span<const Dispatch> dispatches) override {
    return with_pool([&] { return make_null_program(gpu_, dispatches); });
  }

  // Checked builds are the `cpu` device's.
  [[nodiscard]] std::shared_ptr<Queue> make_queue(bool /*checked*/) override {
    return metal::make_queue(gpu_);
  }

  [[nodiscard]] double tick_ns() const override { return tick_ns_; }

  [[nodiscard]] Facts state() const override {
    return with_pool([&] { return state_of(gpu_->device()); });
  }

  [[nodiscard]] std::shared_ptr<void> raise_thread_qos() override {
    return std::make_shared<ThreadQos>();
  }

  [[nodiscard]] std::unique_ptr<Observer> observe() override {
    return with_pool([&] { return observe_commits(*gpu_); });
  }

  void capture(Program& program, const RunOptions& options, const std::string& path) override {
    with_pool([&] {
      metal::capture(*gpu_, program, options, path);
      return true;
    });
  }

 private:
  std::shared_ptr<Gpu> gpu_;
  CompileContext compile_context_;
  double tick_ns_;
  DeviceInfo info_;
};

}  // namespace

std::string why_absent() {
  @autoreleasepool {
    if (MTLCreateSystemDefaultDevice() != nil) return "";
  }
  return "macOS gives no Metal GPU to this process (a virtual machine without one, or a session "
         "without graphics). Run it on the Mac itself, or use the `cpu` device";
}

std::shared_ptr<Device> make_device(std::shared_ptr<ArtifactCache> cache,
                                    std::shared_ptr<SignatureReader> reader) {
  return with_pool([&]() -> std::shared_ptr<Device> {
    const id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    if (device == nil) throw Unsupported("metal: " + why_absent());
    auto gpu = make_gpu(device, probe(device));
    return std::make_shared<MetalDevice>(std::move(gpu), std::move(cache), std::move(reader));
  });
}

}  // namespace metalbench::metal
