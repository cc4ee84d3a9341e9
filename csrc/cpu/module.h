#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/library.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// A kernel's shared object, loaded. If it has several kernels, its symbols end in `entry`.
class Module {
 public:
  explicit Module(const std::string& path, const std::string& entry = "");
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const mb::Info& info() const { return *info_; }
  // Entries for fibers that run one thread, for fibers that run several threads, and for kernels
  // without fibers; null for the other kinds.
  [[nodiscard]] mb::ThreadEntry thread_entry() const { return thread_; }
  [[nodiscard]] mb::ThreadEntry lanes_entry() const { return lanes_; }
  [[nodiscard]] mb::SpanEntry span_entry() const { return span_; }
  // Checked builds: descriptions of threadgroup variables.
  [[nodiscard]] mb::PartsEntry parts_entry() const { return parts_; }
  // Return whether the module has shadow memory for private memory.
  [[nodiscard]] bool has_shadow() const { return has_shadow_; }
  // Return a program counter as an offset into the file's address space.
  [[nodiscard]] std::optional<mb::uptr> offset_of(const void* pc) const;
  // Return whether an address lies in code or constants of the module.
  [[nodiscard]] bool contains(const void* address) const;

 private:
  std::string path_;
  void* handle_ = nullptr;
  const mb::Info* info_ = nullptr;
  mb::ThreadEntry thread_ = nullptr;
  mb::ThreadEntry lanes_ = nullptr;
  mb::SpanEntry span_ = nullptr;
  mb::PartsEntry parts_ = nullptr;
  mb::uptr base_ = 0;
  bool has_shadow_ = false;
};

// Return the number of objects that this process has loaded since its start, including unloaded
// ones.
[[nodiscard]] std::uint64_t modules_loaded();

}  // namespace metalbench::cpu
