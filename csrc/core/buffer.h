#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace metalbench {

// Memory that host and device share. Devices derive from it to keep their own handle.
class Storage {
 public:
  virtual ~Storage() = default;
  [[nodiscard]] virtual std::span<std::byte> bytes() = 0;
  // Where kernels see its first byte.
  [[nodiscard]] virtual std::uint64_t address() {
    return reinterpret_cast<std::uintptr_t>(bytes().data());
  }

  // For checked runs: one byte for each of the storage, not zero where nothing has written yet.
  // Null when all counts as written.
  using Unwritten = std::atomic<std::uint8_t>;
  [[nodiscard]] Unwritten* unwritten() const { return unwritten_.get(); }
  void mark(std::size_t offset, std::size_t size, bool is_unwritten);

 protected:
  // Memory for the marks, all zero.
  [[nodiscard]] virtual std::shared_ptr<Unwritten[]> make_marks(std::size_t size);
  // Marks that another process shares; null for none.
  void share_marks(std::shared_ptr<Unwritten[]> marks) { unwritten_ = std::move(marks); }

 private:
  std::shared_ptr<Unwritten[]> unwritten_;
};

// A view of some storage: what a kernel may touch when it is bound.
class Buffer {
 public:
  Buffer(std::shared_ptr<Storage> storage, bool shared, std::string dtype = "");

  // Throws DispatchError when the range does not lie inside of this view.
  [[nodiscard]] Buffer slice(std::size_t offset, std::size_t size) const;

  [[nodiscard]] std::span<std::byte> bytes() const;
  [[nodiscard]] std::uint64_t address() const { return storage_->address() + offset_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // Whether an array of the caller's is the storage itself.
  [[nodiscard]] bool shared() const { return shared_; }
  // What it was made of, in NumPy's words; empty for plain bytes.
  [[nodiscard]] const std::string& dtype() const { return dtype_; }
  // What a checked run makes of reads that come before any write. Not to be called during a run.
  void mark_unwritten() const { storage_->mark(offset_, size_, true); }
  void mark_written() const { storage_->mark(offset_, size_, false); }
  // The marks of this view's first byte and those after it; null without any.
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
