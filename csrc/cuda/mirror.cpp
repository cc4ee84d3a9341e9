#include "cuda/mirror.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace metalbench::cuda {
namespace {

class Own final : public Mirror {
 public:
  Own(std::shared_ptr<const Gpu> gpu, std::size_t size) : Mirror(std::move(gpu), size) {
    const std::size_t bytes = std::max<std::size_t>(size, 1);
    // Locked in memory: the GPU copies it by itself, at the speed of its bus.
    this->gpu().check(this->gpu().driver().cuMemHostAlloc(&memory_, bytes, 0),
                      "allocate " + std::to_string(size) + " bytes of the host's memory");
    std::memset(memory_, 0, bytes);
    set_host({static_cast<std::byte*>(memory_), size});
  }
  ~Own() override {
    if (gpu().lost().empty()) (void)gpu().driver().cuMemFreeHost(memory_);
  }

 private:
  void* memory_ = nullptr;
};

class Wrapped final : public Mirror {
 public:
  Wrapped(std::shared_ptr<const Gpu> gpu, std::span<std::byte> memory, std::shared_ptr<void> owner)
      : Mirror(std::move(gpu), memory.size()), owner_(std::move(owner)) {
    set_host(memory);
  }

 private:
  std::shared_ptr<void> owner_;
};

}  // namespace

Mirror::Mirror(std::shared_ptr<const Gpu> gpu, std::size_t size) : gpu_(std::move(gpu)) {
  gpu_->use();
  gpu_->check(gpu_->driver().cuMemAlloc_v2(&device_, std::max<std::size_t>(size, 1)),
              "allocate " + std::to_string(size) + " bytes of the GPU's memory");
}

Mirror::~Mirror() {
  if (gpu_->lost().empty()) (void)gpu_->driver().cuMemFree_v2(device_);
}

void Mirror::enter() {
  const std::lock_guard lock(mutex_);
  if (stays_ == 0 && !host_.empty()) {
    gpu_->check(gpu_->driver().cuMemcpyHtoD_v2(device_, host_.data(), host_.size()),
                "copy to the GPU");
  }
  ++stays_;
}

void Mirror::leave(bool wanted) {
  const std::lock_guard lock(mutex_);
  if (--stays_ != 0 || !wanted || host_.empty()) return;
  gpu_->check(gpu_->driver().cuMemcpyDtoH_v2(host_.data(), device_, host_.size()),
              "copy from the GPU");
}

std::shared_ptr<Mirror> make_mirror(std::shared_ptr<const Gpu> gpu, std::size_t size) {
  return std::make_shared<Own>(std::move(gpu), size);
}

std::shared_ptr<Mirror> mirror_of(std::shared_ptr<const Gpu> gpu, std::span<std::byte> memory,
                                  std::shared_ptr<void> owner) {
  return std::make_shared<Wrapped>(std::move(gpu), memory, std::move(owner));
}

}  // namespace metalbench::cuda
