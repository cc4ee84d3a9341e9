#include "buffer.h"

#include <unistd.h>

#include <utility>

#include "engine.h"
#include "texture.h"

namespace {

class Memory final : public metalbench::Storage {
 public:
  Memory(std::span<std::byte> memory, std::shared_ptr<metalbench::Storage> owner)
      : memory_(memory), owner_(std::move(owner)) {}
  [[nodiscard]] std::span<std::byte> bytes() override { return memory_; }

 private:
  std::span<std::byte> memory_;
  std::shared_ptr<metalbench::Storage> owner_;
};

}  // namespace

std::shared_ptr<metalbench::Storage> metal_double::new_storage(NSUInteger length) {
  constexpr NSUInteger from_page = 256;
  if (length >= static_cast<NSUInteger>(getpagesize())) return engine().allocate(length);
  std::shared_ptr<metalbench::Storage> owner = engine().allocate(from_page + length);
  return std::make_shared<Memory>(owner->bytes().subspan(from_page), owner);
}

std::shared_ptr<metalbench::Storage> metal_double::storage_over(void* pointer, NSUInteger length) {
  return std::make_shared<Memory>(std::span<std::byte>(static_cast<std::byte*>(pointer), length),
                                  nullptr);
}

@implementation DoubleBuffer {
  metal_double::Allocated _allocated;
  void (^_deallocator)(void* pointer, NSUInteger length);
}
@synthesize device = _device;
@synthesize label = _label;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                       storage:(std::shared_ptr<metalbench::Storage>)storage
                     allocated:(metal_double::Allocated)allocated
                   deallocator:(void (^)(void* pointer, NSUInteger length))deallocator {
  if ((self = [super init]) != nil) {
    _device = device;
    _storage = std::move(storage);
    _length = _storage->bytes().size();
    _allocated = std::move(allocated);
    _deallocator = [deallocator copy];
    *_allocated += _length;
  }
  return self;
}
- (void)dealloc {
  *_allocated -= _length;
  if (_deallocator != nil) _deallocator(_storage->bytes().data(), _length);
}
- (NSUInteger)length {
  return _length;
}
- (NSUInteger)allocatedSize {
  return _length;
}
- (void*)contents {
  return _storage->bytes().data();
}
- (uint64_t)gpuAddress {
  return reinterpret_cast<uintptr_t>(_storage->bytes().data());
}
- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor*)descriptor
                                    offset:(NSUInteger)offset
                               bytesPerRow:(NSUInteger)bytesPerRow {
  return metal_double::make_texture(self, descriptor, offset, bytesPerRow);
}
@end
