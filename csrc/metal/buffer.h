#pragma once

#import <Metal/Metal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/buffer.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// A command buffer of a queue.
struct Submission {
  // No submission; and several queues used the memory, so that only all work of the device can be
  // awaited.
  static constexpr std::uint16_t none = 0, of_several_queues = 0xffff;
  std::uint16_t queue = none;
  std::uint64_t number = 0;  // less than 2^48; a queue's own ascend
};

// GPU-visible memory: an MTLBuffer or a part of one.
class MetalStorage final : public Storage {
 public:
  struct Place {
    id<MTLBuffer> buffer;
    NSUInteger offset = 0;
    std::size_t size = 0;
  };

  // `owner` keeps memory alive that the buffer does not own.
  MetalStorage(const Gpu& gpu, Place place, std::shared_ptr<void> owner);
  ~MetalStorage() override;
  MetalStorage(const MetalStorage&) = delete;
  MetalStorage& operator=(const MetalStorage&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() override;
  [[nodiscard]] std::uint64_t address() override { return place_.buffer.gpuAddress + offset(); }
  [[nodiscard]] id<MTLBuffer> buffer() const { return place_.buffer; }
  // Return the offset of the storage's first byte in the buffer.
  [[nodiscard]] NSUInteger offset() const { return place_.offset; }
  // Return what keeps the memory alive; null if the buffer owns it.
  [[nodiscard]] const std::shared_ptr<void>& owner() const { return owner_; }

  // For queues: note a submission that uses the memory, and return the last ones.
  void note_use(const Submission& by, bool writes) const;
  [[nodiscard]] Submission last_use() const { return last(last_use_); }
  [[nodiscard]] Submission last_write() const { return last(last_write_); }

 private:
  [[nodiscard]] Submission last(const std::atomic<std::uint64_t>& packed) const;

  std::shared_ptr<Residency> residency_;
  std::shared_ptr<void> owner_;
  Place place_;
  // Submissions as numbers. Threads of several queues may use the memory.
  mutable std::atomic<std::uint64_t> last_use_ = 0, last_write_ = 0;
  mutable std::atomic<bool> has_several_queues_ = false;
};

// Allocate zeroed, page-aligned memory. Throws Error if it is not available.
[[nodiscard]] std::shared_ptr<Storage> allocate(const std::shared_ptr<Gpu>& gpu, std::size_t size);
// Use the caller's memory; null where the device needs a copy.
[[nodiscard]] std::shared_ptr<Storage> wrap(const std::shared_ptr<Gpu>& gpu,
                                            std::span<std::byte> memory,
                                            std::shared_ptr<void> owner);

// Return the buffer's storage as a storage of this device. Throws DispatchError for another
// device's; `where` names the kernel and its argument.
[[nodiscard]] const MetalStorage& storage_of(const Buffer& buffer, const std::string& where);

}  // namespace metalbench::metal
