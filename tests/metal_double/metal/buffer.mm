#include "buffer.h"

#include <mach/vm_page_size.h>

#include <utility>

#include "addresses.h"
#include "engine.h"
#include "resource_ids.h"
#include "tensor.h"
#include "texture.h"

namespace {

class Memory final : public metalbench::Storage {
 public:
  Memory(std::span<std::byte> memory, std::shared_ptr<metalbench::Storage> owner)
      : memory_(memory), owner_(std::move(owner)) {}
  [[nodiscard]] std::span<std::byte> bytes() override { return memory_; }
  [[nodiscard]] bool is_lent() const { return owner_ == nullptr; }

 private:
  std::span<std::byte> memory_;
  std::shared_ptr<metalbench::Storage> owner_;
};

}  // namespace

std::size_t metal_double::own_bytes(metalbench::Storage& storage, std::size_t of_lent) {
  const auto* const memory = dynamic_cast<const Memory*>(&storage);
  return memory != nullptr && memory->is_lent() ? of_lent : storage.bytes().size();
}

std::shared_ptr<metalbench::Storage> metal_double::new_storage(NSUInteger length) {
  constexpr NSUInteger from_page = 256;
  std::shared_ptr<metalbench::Storage> owner = engine().allocate(vm_page_size + length);
  const auto before = reinterpret_cast<uintptr_t>(owner->bytes().data()) % vm_page_size;
  const NSUInteger page = before == 0 ? 0 : vm_page_size - before;
  const NSUInteger begin = length < vm_page_size ? (page + from_page) % vm_page_size : page;
  return std::make_shared<Memory>(owner->bytes().subspan(begin, length), owner);
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
                       options:(MTLResourceOptions)options
                     allocated:(metal_double::Allocated)allocated
                   deallocator:(void (^)(void* pointer, NSUInteger length))deallocator {
  if ((self = [super init]) != nil) {
    _device = device;
    _storage = std::move(storage);
    _length = _storage->bytes().size();
    _gpuAddress = metal_double::give_address(_storage->bytes());
    _tracked = (options & MTLResourceHazardTrackingModeUntracked) == 0;
    _allocated = std::move(allocated);
    _deallocator = [deallocator copy];
    *_allocated += _length;
    metal_double::enter(self);
  }
  return self;
}
- (void)dealloc {
  *_allocated -= _length;
  metal_double::take_address_back(_gpuAddress);
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
  return _gpuAddress;
}
- (id<MTLTexture>)newTextureWithDescriptor:(MTLTextureDescriptor*)descriptor
                                    offset:(NSUInteger)offset
                               bytesPerRow:(NSUInteger)bytesPerRow {
  return metal_double::make_texture(self, descriptor, offset, bytesPerRow);
}
- (DoubleTensor*)newTensorWithDescriptor:(MTLTensorDescriptor*)descriptor
                                  offset:(NSUInteger)offset
                                   error:(__autoreleasing NSError**)error {
  return metal_double::make_tensor(self, descriptor, offset, error);
}
@end
