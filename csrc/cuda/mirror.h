// Memory that host and device have a copy of each.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "cuda/gpu.h"

namespace metalbench::cuda {

class Mirror : public Storage {
 public:
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror() override;

  [[nodiscard]] std::span<std::byte> bytes() override { return host_; }
  [[nodiscard]] std::uint64_t address() override { return device_; }

  // What the host has is what kernels see from here on, until as many calls of leave(); then the
  // host has what kernels left. Only the first and the last of several copy.
  void enter();
  // Without `wanted` the host keeps what it has: kernels have failed.
  void leave(bool wanted);

 protected:
  Mirror(std::shared_ptr<const Gpu> gpu, std::size_t size);
  [[nodiscard]] const Gpu& gpu() const { return *gpu_; }
  void set_host(std::span<std::byte> host) { host_ = host; }

 private:
  void copy_in();

  std::shared_ptr<const Gpu> gpu_;
  Address device_ = 0;
  std::span<std::byte> host_;
  std::mutex mutex_;
  int stays_ = 0;
};

// Zeroed memory of the device's own.
[[nodiscard]] std::shared_ptr<Mirror> make_mirror(std::shared_ptr<const Gpu> gpu, std::size_t size);

// The caller's memory as the host's copy: all that names the same memory has one copy on the
// device.
class Wraps {
 public:
  // Null for memory that overlaps, and is not part of, what is wrapped already.
  [[nodiscard]] std::shared_ptr<Storage> wrap(const std::shared_ptr<const Gpu>& gpu,
                                              std::span<std::byte> memory,
                                              std::shared_ptr<void> owner);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Mirror>> known_;
};

// What holds a storage; null for one of another device.
[[nodiscard]] std::shared_ptr<Mirror> mirror_of(const std::shared_ptr<Storage>& storage);

}  // namespace metalbench::cuda
