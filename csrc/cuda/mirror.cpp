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
  OwnedMirror(std::shared_ptr<const Gpu> gpu, std::size_t size, bool zeroed)
      : Mirror(std::move(gpu), size, zeroed) {}
  ~OwnedMirror() override {
    if (memory_ != nullptr && gpu().lost().empty()) (void)gpu().driver().cuMemFreeHost(memory_);
  }

 private:
  std::byte* host() override {
    if (memory_ == nullptr) {
      const std::size_t bytes = std::max<std::size_t>(size(), 1);
      gpu().use();
      // Page-locked, so that the GPU copies it by DMA at the speed of its bus.
      gpu().check(gpu().driver().cuMemHostAlloc(&memory_, bytes, 0),
                  "allocate " + std::to_string(size()) + " bytes of the host's memory");
    }
    return static_cast<std::byte*>(memory_);
  }

  void* memory_ = nullptr;
};

class WrappedMirror final : public Mirror {
 public:
  WrappedMirror(std::shared_ptr<const Gpu> gpu, std::span<std::byte> memory,
                std::shared_ptr<void> owner)
      : Mirror(std::move(gpu), memory.size(), false), memory_(memory), owner_(std::move(owner)) {
    // The caller may access its memory at any time.
    hold_view();
  }

 private:
  std::byte* host() override { return memory_.data(); }

  std::span<std::byte> memory_;
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

Mirror::Mirror(std::shared_ptr<const Gpu> gpu, std::size_t size, bool zeroed)
    : gpu_(std::move(gpu)), size_(size), zeroed_(zeroed) {
  gpu_->use();
  gpu_->check(gpu_->driver().cuMemAlloc_v2(&device_, std::max<std::size_t>(size, 1)),
              "allocate " + std::to_string(size) + " bytes of the GPU's memory");
}

Mirror::~Mirror() {
  if (gpu_->lost().empty()) (void)gpu_->driver().cuMemFree_v2(device_);
}

std::span<std::byte> Mirror::bytes() {
  const std::lock_guard lock(mutex_);
  update_host();
  // The caller may write to them.
  if (views_ == 0) device_is_current_ = false;
  return {host(), size_};
}

void Mirror::hold_view() {
  const std::lock_guard lock(mutex_);
  if (views_++ == 0) {
    update_host();
    device_is_current_ = false;
  }
}

void Mirror::release_view() {
  const std::lock_guard lock(mutex_);
  if (--views_ == 0) device_is_current_ = false;
}

void Mirror::update_host() {
  if (host_is_current_ || size_ == 0) return;
  if (device_is_current_) {
    gpu_->use();
    gpu_->copy_out(host(), device_, size_);
  } else if (zeroed_) {
    std::memset(host(), 0, size_);
  }
  host_is_current_ = true;
}

void Mirror::update_device() {
  if (size_ == 0) return;
  if (host_is_current_ && (views_ > 0 || !device_is_current_)) {
    copy_in();
  } else if (!host_is_current_ && !device_is_current_ && zeroed_) {
    gpu_->enqueue_zeros(device_, size_);
  }
  device_is_current_ = true;
}

void Mirror::enter() {
  const std::lock_guard lock(mutex_);
  if (entries_ == 0) update_device();
  ++entries_;
}

// Unwritten bytes are not copied, so that compute-sanitizer detects reads of them.
void Mirror::copy_in() {
  const std::byte* from = host();
  const Unwritten* first = unwritten();
  if (first == nullptr) {
    gpu_->copy_in(device_, from, size_);
    return;
  }
  const auto is_written = [](const Unwritten& mark) { return mark == 0; };
  const Unwritten* last = first + size_;
  for (const Unwritten* end = first; end != last;) {
    const Unwritten* begin = std::find_if(end, last, is_written);
    end = std::find_if_not(begin, last, is_written);
    const std::ptrdiff_t at = begin - first;
    if (begin != end) gpu_->copy_in(device_ + at, from + at, end - begin);
  }
}

void Mirror::leave(bool wanted) {
  const std::lock_guard lock(mutex_);
  if (--entries_ != 0 || !wanted || size_ == 0) return;
  if (views_ > 0) {
    gpu_->copy_out(host(), device_, size_);
  } else {
    host_is_current_ = false;
  }
}

bool Mirror::use(bool writes) {
  const std::lock_guard lock(mutex_);
  update_device();
  if (writes && views_ == 0) host_is_current_ = false;
  return views_ > 0;
}

void Mirror::publish() {
  const std::lock_guard lock(mutex_);
  if (views_ > 0 && size_ > 0) gpu_->copy_out(host(), device_, size_);
}

void Mirror::store(std::size_t offset, const std::byte* from, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (size == 0) return;
  update_device();
  gpu_->enqueue_copy_in(device_ + offset, from, size);
  if (views_ > 0) {
    std::memcpy(host() + offset, from, size);
  } else {
    host_is_current_ = false;
  }
}

void Mirror::load(std::byte* to, std::size_t offset, std::size_t size) {
  const std::lock_guard lock(mutex_);
  if (size == 0) return;
  if (host_is_current_) {
    std::memcpy(to, host() + offset, size);
  } else {
    update_device();
    gpu_->copy_out(to, device_ + offset, size);
  }
}

std::shared_ptr<Mirror> make_mirror(std::shared_ptr<const Gpu> gpu, std::size_t size, bool zeroed) {
  return std::make_shared<OwnedMirror>(std::move(gpu), size, zeroed);
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
