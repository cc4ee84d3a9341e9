#pragma once

#import <Metal/Metal.h>

#include <cstddef>
#include <memory>
#include <span>

#include "core/buffer.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Memory that the GPU sees: all of an MTLBuffer, or a part of one.
class MetalStorage final : public Storage {
 public:
  // `owner` keeps memory alive that the buffer does not own.
  MetalStorage(std::shared_ptr<Gpu> gpu, id<MTLBuffer> buffer, NSUInteger offset, std::size_t size,
               std::shared_ptr<void> owner);
  ~MetalStorage() override;
  MetalStorage(const MetalStorage&) = delete;
  MetalStorage& operator=(const MetalStorage&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() override;
  [[nodiscard]] std::uint64_t address() override { return buffer_.gpuAddress + offset_; }
  [[nodiscard]] id<MTLBuffer> buffer() const { return buffer_; }
  // Of the storage's first byte within the buffer.
  [[nodiscard]] NSUInteger offset() const { return offset_; }

 private:
  std::shared_ptr<Gpu> gpu_;
  std::shared_ptr<void> owner_;
  id<MTLBuffer> buffer_;
  NSUInteger offset_;
  std::size_t size_;
};

// Zeroed and page-aligned. Throws Error when there is no such memory.
[[nodiscard]] std::shared_ptr<Storage> allocate(const std::shared_ptr<Gpu>& gpu, std::size_t size);
// Over the caller's memory; null where the device needs a copy.
[[nodiscard]] std::shared_ptr<Storage> wrap(const std::shared_ptr<Gpu>& gpu,
                                            std::span<std::byte> memory,
                                            std::shared_ptr<void> owner);

// The storage as this device's own. Throws DispatchError for another device's; `where` names the
// kernel and its argument.
[[nodiscard]] const MetalStorage& storage_of(const Buffer& buffer, const std::string& where);

}  // namespace metalbench::metal
