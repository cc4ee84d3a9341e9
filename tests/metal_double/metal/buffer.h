#pragma once

#import <Metal/Metal.h>

#include <atomic>
#include <memory>

#include "core/buffer.h"

namespace metal_double {
// What a device's resources take together, in bytes.
using Allocated = std::shared_ptr<std::atomic<NSUInteger>>;
}  // namespace metal_double

@interface DoubleBuffer : NSObject <MTLBuffer> {
 @public
  std::shared_ptr<metalbench::Storage> _storage;
  NSUInteger _length;
  std::uint64_t _gpuAddress;
  bool _tracked;  // Metal sees to it that uses do not overlap
}
// Takes the storage for its own, and calls `deallocator` when it ends.
- (instancetype)initWithDevice:(id<MTLDevice>)device
                       storage:(std::shared_ptr<metalbench::Storage>)storage
                       options:(MTLResourceOptions)options
                     allocated:(metal_double::Allocated)allocated
                   deallocator:(void (^)(void* pointer, NSUInteger length))deallocator;
@end

namespace metal_double {

// How much of a storage belongs to the buffer alone: all of it, or the part whose pages were lent.
[[nodiscard]] std::size_t own_bytes(metalbench::Storage& storage, std::size_t of_lent);
// Memory of the caller's as a storage.
[[nodiscard]] std::shared_ptr<metalbench::Storage> storage_over(void* pointer, NSUInteger length);
// Zeroed memory. As in Metal, what is smaller than a page of the GPU's need not begin with one.
[[nodiscard]] std::shared_ptr<metalbench::Storage> new_storage(NSUInteger length);

}  // namespace metal_double
