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

// A mirror knows which copies have the current bytes. It copies only when the side without them
// needs them, and in both directions while the host holds a view.
class Mirror : public Storage {
 public:
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror() override;

  // Wait for the device's bytes if they are newer.
  [[nodiscard]] std::span<std::byte> bytes() override;
  [[nodiscard]] std::size_t size() override { return size_; }
  [[nodiscard]] std::uint64_t address() override { return device_; }
  void hold_view() override;
  void release_view() override;

  // Make the current bytes available to work of a program until leave(). Calls nest.
  void enter();
  // If not `wanted`, keep the host's bytes, because kernels have failed.
  void leave(bool wanted);

  // For a queue: make the current bytes available to work that is submitted from now on, which
  // changes them if it `writes`. Return whether the host holds a view, so that the queue must call
  // publish() after its work.
  [[nodiscard]] bool use(bool writes);
  void publish();
  // For a queue: copy between a range and the caller's memory. store() does not wait.
  void store(std::size_t offset, const std::byte* from, std::size_t size);
  void load(std::byte* to, std::size_t offset, std::size_t size);

 protected:
  // A mirror with zeros, or with undefined contents.
  Mirror(std::shared_ptr<const Gpu> gpu, std::size_t size, bool zeroed);
  [[nodiscard]] const Gpu& gpu() const { return *gpu_; }
  // Return the host's memory; allocate it if there is none.
  [[nodiscard]] virtual std::byte* host() = 0;

 private:
  void copy_in();
  void update_device();
  void update_host();

  std::shared_ptr<const Gpu> gpu_;
  std::size_t size_;
  Address device_ = 0;
  std::mutex mutex_;
  int entries_ = 0;
  int views_ = 0;
  // Which copies are current. Neither: all bytes are zeros, or undefined if not zeroed_.
  bool host_is_current_ = false, device_is_current_ = false;
  bool zeroed_;
};

// Allocate memory of zeros, or with undefined contents.
[[nodiscard]] std::shared_ptr<Mirror> make_mirror(std::shared_ptr<const Gpu> gpu, std::size_t size,
                                                  bool zeroed = true);

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
