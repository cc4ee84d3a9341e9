#include "core/buffer.h"

#include <string>
#include <utility>

#include "core/errors.h"

namespace metalbench {

std::shared_ptr<Storage::Unwritten[]> Storage::make_marks(std::size_t size) {
  return std::shared_ptr<Unwritten[]>(new Unwritten[size]());
}

void Storage::mark(std::size_t offset, std::size_t size, bool is_unwritten) {
  if (unwritten_ == nullptr) {
    if (!is_unwritten) return;
    unwritten_ = make_marks(this->size());
  }
  for (std::size_t i = offset; i < offset + size; ++i) {
    unwritten_[i].store(is_unwritten ? 1 : 0, std::memory_order_relaxed);
  }
}

Buffer::Buffer(std::shared_ptr<Storage> storage, bool shared, std::string dtype)
    : storage_(std::move(storage)),
      size_(storage_->size()),
      shared_(shared),
      dtype_(std::move(dtype)) {}

Buffer Buffer::slice(std::size_t offset, std::size_t size) const {
  if (offset > size_ || size > size_ - offset) {
    throw DispatchError("slice: expected a range within the " + std::to_string(size_) +
                        " bytes of the buffer, got offset " + std::to_string(offset) + " and " +
                        std::to_string(size) + " bytes");
  }
  Buffer view = *this;
  view.offset_ += offset;
  view.size_ = size;
  return view;
}

std::span<std::byte> Buffer::bytes() const { return storage_->bytes().subspan(offset_, size_); }

}  // namespace metalbench
