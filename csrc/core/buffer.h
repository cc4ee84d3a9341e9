#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace metalbench {

// Memory shared by host and device. Device classes derive from it and add their own handle.
class Storage {
 public:
  virtual ~Storage() = default;
  // The host's bytes, which the caller may read and write. With separate device memory, the newest
  // bytes are copied to the host first.
  [[nodiscard]] virtual std::span<std::byte> bytes() = 0;
  [[nodiscard]] virtual std::size_t size() { return bytes().size(); }
  // The host may access bytes() at any time between hold_view() and release_view(), so device work
  // copies in both directions. Calls nest.
  virtual void hold_view() {}
  virtual void release_view() {}
  // Device address of the first byte.
  [[nodiscard]] virtual std::uint64_t address() {
    return reinterpret_cast<std::uintptr_t>(bytes().data());
  }

  // Marks of checked runs: one byte for each byte of storage, nonzero until that byte is written.
  // Null when all bytes count as written.
  using Unwritten = std::atomic<std::uint8_t>;
  [[nodiscard]] Unwritten* unwritten() const { return unwritten_.get(); }
  void mark(std::size_t offset, std::size_t size, bool is_unwritten);

 protected:
  // Allocate the marks, all zero.
  [[nodiscard]] virtual std::shared_ptr<Unwritten[]> make_marks(std::size_t size);
  // Use marks that another process shares; null for none.
  void share_marks(std::shared_ptr<Unwritten[]> marks) { unwritten_ = std::move(marks); }

 private:
  std::shared_ptr<Unwritten[]> unwritten_;
};

// A view of a storage: the range that a kernel may access when the buffer is bound.
class Buffer {
 public:
  Buffer(std::shared_ptr<Storage> storage, bool shared, std::string dtype = "");

  // Throws DispatchError when the range does not lie inside of this view.
  [[nodiscard]] Buffer slice(std::size_t offset, std::size_t size) const;

  [[nodiscard]] std::span<std::byte> bytes() const;
  [[nodiscard]] std::uint64_t address() const { return storage_->address() + offset_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // Return whether the storage is the caller's array, without a copy.
  [[nodiscard]] bool shared() const { return shared_; }
  // NumPy dtype of the source array; empty for plain bytes.
  [[nodiscard]] const std::string& dtype() const { return dtype_; }
  // Mark all bytes as unwritten: a checked run then reports reads before writes. Not during a run.
  void mark_unwritten() const { storage_->mark(offset_, size_, true); }
  void mark_written() const { storage_->mark(offset_, size_, false); }
  // Return the mark of this view's first byte, followed by the others; null without marks.
  [[nodiscard]] Storage::Unwritten* unwritten() const {
    Storage::Unwritten* marks = storage_->unwritten();
    return marks == nullptr ? nullptr : marks + offset_;
  }
  [[nodiscard]] const std::shared_ptr<Storage>& storage() const { return storage_; }

 private:
  std::shared_ptr<Storage> storage_;
  std::size_t offset_ = 0;
  std::size_t size_ = 0;
  bool shared_ = false;
  std::string dtype_;
};

}  // namespace metalbench
