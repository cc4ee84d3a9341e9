#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/library.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// A lowered kernel's shared object, loaded. What it exports ends in `entry`, if it has more
// kernels.
class Module {
 public:
  explicit Module(const std::string& path, const std::string& entry = "");
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const mb::Info& info() const { return *info_; }
  // Null if its fibers run several threads each, or none; the other one is null if they do not.
  [[nodiscard]] mb::ThreadEntry thread_entry() const { return thread_; }
  [[nodiscard]] mb::ThreadEntry lanes_entry() const { return lanes_; }
  [[nodiscard]] mb::SpanEntry span_entry() const { return span_; }  // null if it needs fibers
  // Of checked builds: its threadgroup variables.
  [[nodiscard]] mb::PartsEntry parts_entry() const { return parts_; }
  // Whether private memory is followed.
  [[nodiscard]] bool has_shadow() const { return has_shadow_; }
  // The program counter as an offset into the file's own address space.
  [[nodiscard]] std::optional<mb::uptr> offset_of(const void* pc) const;
  // Code and constants of the module.
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

// How many objects this process has loaded since it started, whatever has become of them.
[[nodiscard]] std::uint64_t modules_loaded();

}  // namespace metalbench::cpu
