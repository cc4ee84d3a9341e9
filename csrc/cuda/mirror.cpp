#include "cuda/mirror.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

namespace metalbench::cuda {
namespace {

class OwnedMirror final : public Mirror {
 public:
  OwnedMirror(std::shared_ptr<const Gpu> gpu, std::size_t size) : Mirror(std::move(gpu), size) {
    const std::size_t bytes = std::max<std::size_t>(size, 1);
    // Page-locked, so that the GPU copies it by DMA at the speed of its bus.
    this->gpu().check(this->gpu().driver().cuMemHostAlloc(&memory_, bytes, 0),
                      "allocate " + std::to_string(size) + " bytes of the host's memory");
    std::memset(memory_, 0, bytes);
    set_host({static_cast<std::byte*>(memory_), size});
  }
  ~OwnedMirror() override {
    if (gpu().lost().empty()) (void)gpu().driver().cuMemFreeHost(memory_);
  }

 private:
  void* memory_ = nullptr;
};

class WrappedMirror final : public Mirror {
 public:
  WrappedMirror(std::shared_ptr<const Gpu> gpu, std::span<std::byte> memory,
                std::shared_ptr<void> owner)
      : Mirror(std::move(gpu), memory.size()), owner_(std::move(owner)) {
    set_host(memory);
  }

 private:
  std::shared_ptr<void> owner_;
};

// A part of memory that was wrapped as a whole.
class MirrorPart final : public Storage {
 public:
  MirrorPart(std::shared_ptr<Mirror> whole, std::span<std::byte> memory)
      : whole_(std::move(whole)), memory_(memory) {}
  [[nodiscard]] std::span<std::byte> bytes() override { return memory_; }
  [[nodiscard]] std::uint64_t address() override {
    return whole_->address() + static_cast<std::uint64_t>(memory_.data() - whole_->bytes().data());
  }
  [[nodiscard]] const std::shared_ptr<Mirror>& whole() const { return whole_; }

 private:
  std::shared_ptr<Mirror> whole_;
  std::span<std::byte> memory_;
};

bool before(const std::byte* a, const std::byte* b) { return std::less<>()(a, b); }

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
  if (entries_ == 0) copy_in();
  ++entries_;
}

// Unwritten bytes are not copied, so that compute-sanitizer detects reads of them.
void Mirror::copy_in() {
  const Unwritten* first = unwritten();
  if (first == nullptr) {
    if (!host_.empty()) gpu_->copy_in(device_, host_.data(), host_.size());
    return;
  }
  const auto is_written = [](const Unwritten& mark) { return mark == 0; };
  const Unwritten* last = first + host_.size();
  for (const Unwritten* end = first; end != last;) {
    const Unwritten* begin = std::find_if(end, last, is_written);
    end = std::find_if_not(begin, last, is_written);
    const std::ptrdiff_t at = begin - first;
    if (begin != end) gpu_->copy_in(device_ + at, host_.data() + at, end - begin);
  }
}

void Mirror::leave(bool wanted) {
  const std::lock_guard lock(mutex_);
  if (--entries_ != 0 || !wanted || host_.empty()) return;
  gpu_->copy_out(host_.data(), device_, host_.size());
}

std::shared_ptr<Mirror> make_mirror(std::shared_ptr<const Gpu> gpu, std::size_t size) {
  return std::make_shared<OwnedMirror>(std::move(gpu), size);
}

std::shared_ptr<Storage> WrappedMemory::wrap(const std::shared_ptr<const Gpu>& gpu,
                                             std::span<std::byte> memory,
                                             std::shared_ptr<void> owner) {
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto& each) { return each.expired(); });
  for (const auto& each : known_) {
    const std::shared_ptr<Mirror> mirror = each.lock();
    if (mirror == nullptr) continue;
    const std::span<std::byte> whole = mirror->bytes();
    if (whole.data() == memory.data() && whole.size() == memory.size()) return mirror;
    const bool overlaps = before(memory.data(), whole.data() + whole.size()) &&
                          before(whole.data(), memory.data() + memory.size());
    if (!overlaps) continue;
    const bool inside = !before(memory.data(), whole.data()) &&
                        !before(whole.data() + whole.size(), memory.data() + memory.size());
    return inside ? std::make_shared<MirrorPart>(mirror, memory) : nullptr;
  }
  auto mirror = std::make_shared<WrappedMirror>(gpu, memory, std::move(owner));
  known_.push_back(mirror);
  return mirror;
}

std::shared_ptr<Mirror> mirror_of(const std::shared_ptr<Storage>& storage) {
  if (const auto part = std::dynamic_pointer_cast<MirrorPart>(storage)) return part->whole();
  return std::dynamic_pointer_cast<Mirror>(storage);
}

}  // namespace metalbench::cuda
