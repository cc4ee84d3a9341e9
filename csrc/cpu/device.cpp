#include "cpu/device.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/errors.h"
#include "cpu/host.h"
#include "cpu/library.h"
#include "cpu/pool.h"
#include "cpu/program.h"
#include "cpu/queue.h"
#include "cpu/storages.h"
#include "cpu/textures.h"

namespace metalbench::cpu {
namespace {

// Gap between two buffers: an index that is slightly too large does not reach the next buffer, and
// a checked run can distinguish them. Untouched gaps take no memory.
constexpr std::size_t gap_bytes = 16 * 1024;

class OwnedStorage final : public Storage {
 public:
  OwnedStorage(std::size_t size, std::shared_ptr<Storages> storages)
      : size_(size), storages_(std::move(storages)) {
    void* memory =
        mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw OutOfMemoryError("cpu device: cannot allocate " + std::to_string(size) + " bytes: " +
                             std::strerror(errno) + "; take smaller sizes, or raise `ulimit -v`");
    }
    mapping_ = static_cast<std::byte*>(memory);
    storages_->add({mapping_ + gap_bytes, size_}, {mapping_, mapped_bytes()}, true);
  }
  ~OwnedStorage() override {
    storages_->remove({mapping_ + gap_bytes, size_});
    munmap(mapping_, mapped_bytes());
  }
  [[nodiscard]] std::span<std::byte> bytes() override { return {mapping_ + gap_bytes, size_}; }

 private:
  [[nodiscard]] std::size_t mapped_bytes() const { return size_ + 2 * gap_bytes; }

  std::size_t size_;
  std::byte* mapping_ = nullptr;
  std::shared_ptr<Storages> storages_;
};

class WrappedStorage final : public Storage {
 public:
  WrappedStorage(std::span<std::byte> memory, std::shared_ptr<void> owner,
                 std::shared_ptr<Storages> storages)
      : memory_(memory), owner_(std::move(owner)), storages_(std::move(storages)) {
    storages_->add(memory_, memory_, false);
  }
  ~WrappedStorage() override { storages_->remove(memory_); }
  [[nodiscard]] std::span<std::byte> bytes() override { return memory_; }

 private:
  std::span<std::byte> memory_;
  std::shared_ptr<void> owner_;
  std::shared_ptr<Storages> storages_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::shared_ptr<FrontEnd> front_end)
      : front_end_(std::move(front_end)), pool_(std::make_shared<Pool>(usable_cores())) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  [[nodiscard]] std::shared_ptr<metalbench::Library> compile(
      const std::string& source, const CompileOptions& options) override {
    return make_library(front_end_->parse(source, options), options);
  }

  [[nodiscard]] std::shared_ptr<Storage> allocate(std::size_t size) override {
    return std::make_shared<OwnedStorage>(size, storages_);
  }

  [[nodiscard]] std::shared_ptr<Storage> wrap(std::span<std::byte> memory,
                                              std::shared_ptr<void> owner) override {
    // Kernels load whole vectors. MSL aligns to at most 16 bytes.
    constexpr std::uintptr_t alignment = 16;
    if (reinterpret_cast<std::uintptr_t>(memory.data()) % alignment != 0) return nullptr;
    return std::make_shared<WrappedStorage>(memory, std::move(owner), storages_);
  }

  [[nodiscard]] std::shared_ptr<const void> describe(const Texture& texture) const override {
    return cpu::describe(texture);
  }
  [[nodiscard]] std::unique_ptr<Program> prepare(std::span<const Dispatch> dispatches) override {
    return make_program(dispatches, {pool_, front_end_, storages_});
  }

  [[nodiscard]] std::unique_ptr<Program> prepare_null(
      std::span<const Dispatch> dispatches) override {
    return make_null_program(dispatches, {pool_, front_end_, storages_});
  }

  [[nodiscard]] std::shared_ptr<Queue> make_queue(bool checked) override {
    // Checked launches are watched together, as one program.
    if (checked) return Device::make_queue(true);
    return cpu::make_queue(shared_from_this(), {pool_, front_end_, storages_});
  }

  [[nodiscard]] double tick_ns() const override { return clock_tick_ns(); }

 private:
  std::shared_ptr<FrontEnd> front_end_;
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<Storages> storages_ = std::make_shared<Storages>();
  DeviceInfo info_ = device_info();
};

}  // namespace

DeviceInfo device_info() {
  DeviceInfo info;
  info.kind = "cpu";
  info.name = processor_name();
  info.cores = usable_cores();
  info.checked_builds = true;
  return info;
}

std::shared_ptr<Device> make_device(std::shared_ptr<FrontEnd> front_end) {
  return std::make_shared<CpuDevice>(std::move(front_end));
}

}  // namespace metalbench::cpu
