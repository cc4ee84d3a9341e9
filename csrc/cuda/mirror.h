// Memory with one copy on the host and one on the device.
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

  // Copy the host's data to the device; leave() copies it back. Calls nest: only the outermost pair
  // copies.
  void enter();
  // If not `wanted`, keep the host's data, because kernels have failed.
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
  int entries_ = 0;
};

// Allocate zeroed memory.
[[nodiscard]] std::shared_ptr<Mirror> make_mirror(std::shared_ptr<const Gpu> gpu, std::size_t size);

// Use of the caller's memory as the host's copy: equal memory shares one copy on the device.
class WrappedMemory {
 public:
  // Return null for memory that overlaps wrapped memory without being part of it.
  [[nodiscard]] std::shared_ptr<Storage> wrap(const std::shared_ptr<const Gpu>& gpu,
                                              std::span<std::byte> memory,
                                              std::shared_ptr<void> owner);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Mirror>> known_;
};

// Return the mirror of a storage; null for another device's.
[[nodiscard]] std::shared_ptr<Mirror> mirror_of(const std::shared_ptr<Storage>& storage);

}  // namespace metalbench::cuda
