#include "cpu/module.h"

#include <dlfcn.h>

#include <atomic>

#include "core/errors.h"
#include "core/header_mismatch.h"

namespace metalbench::cpu {
namespace {

std::atomic<std::uint64_t> loaded_so_far = 0;

template <typename Function>
Function symbol(void* handle, const std::string& name) {
  return reinterpret_cast<Function>(dlsym(handle, name.c_str()));
}

}  // namespace

Module::Module(const std::string& path, const std::string& entry) : path_(path) {
  ++loaded_so_far;
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr)
    throw MachineError("cpu device: cannot load a compiled kernel: " + std::string(dlerror()));
  const auto info = symbol<mb::InfoEntry>(handle_, "mb_info" + entry);
  thread_ = symbol<mb::ThreadEntry>(handle_, "mb_thread");
  lanes_ = symbol<mb::ThreadEntry>(handle_, "mb_lanes");
  parts_ = symbol<mb::PartsEntry>(handle_, "mb_threadgroup_parts");
  has_shadow_ = dlsym(handle_, "mb_shadowed") != nullptr;
  span_ = symbol<mb::SpanEntry>(handle_, "mb_span" + entry);
  Dl_info where{};
  if (info == nullptr || dladdr(reinterpret_cast<void*>(info), &where) == 0) {
    dlclose(handle_);
    throw Error("cpu device: " + path + " is not a compiled kernel; remove it from the cache");
  }
  info_ = info();
  base_ = reinterpret_cast<mb::uptr>(where.dli_fbase);
  if (info_->abi != mb::abi_version) {
    const std::uint32_t found = info_->abi;
    dlclose(handle_);
    throw header_mismatch("cpu device", found);
  }
}

std::uint64_t modules_loaded() { return loaded_so_far; }

Module::~Module() { dlclose(handle_); }

bool Module::contains(const void* address) const {
  Dl_info where{};
  return dladdr(address, &where) != 0 && reinterpret_cast<mb::uptr>(where.dli_fbase) == base_;
}

std::optional<mb::uptr> Module::offset_of(const void* pc) const {
  if (!contains(pc)) return std::nullopt;
  return reinterpret_cast<mb::uptr>(pc) - base_;
}

}  // namespace metalbench::cpu
