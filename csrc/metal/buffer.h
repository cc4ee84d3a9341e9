#pragma once

#import <Metal/Metal.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/buffer.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Memory that the GPU sees: all of an MTLBuffer, or a part of one.
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
  // Of the storage's first byte within the buffer.
  [[nodiscard]] NSUInteger offset() const { return place_.offset; }

 private:
  std::shared_ptr<Residency> residency_;
  std::shared_ptr<void> owner_;
  Place place_;
};

// Zeroed and page-aligned. Throws Error when there is no such memory.
[[nodiscard]] std::shared_ptr<Storage> allocate(const std::shared_ptr<Gpu>& gpu, std::size_t size);
// Over the caller's memory; null where the device needs a copy.
[[nodiscard]] std::shared_ptr<Storage> wrap(const std::shared_ptr<Gpu>& gpu,
                                            std::span<std::byte> memory,
                                            std::shared_ptr<void> owner);

// The buffer's storage as this device's own. Throws DispatchError for another device's; `where`
// names the kernel and its argument.
[[nodiscard]] const MetalStorage& storage_of(const Buffer& buffer, const std::string& where);

}  // namespace metalbench::metal
