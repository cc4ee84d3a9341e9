#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "cpu/module.h"
#include "cpu/textures.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// Memory that a kernel may touch, with the name to use in reports.
struct Range {
  std::string name;
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
};

// A dispatch in the form in which workers run it. Keeps everything alive that it points to.
struct Launch {
  Launch(const Dispatch& dispatch, std::shared_ptr<const Module> module);

  // The same launch of a kernel that does nothing.
  void make_null();

  mb::Launch shared{};
  std::shared_ptr<const Module> module;
  std::string kernel;
  mb::ThreadEntry thread_entry = nullptr;
  mb::SpanEntry span_entry = nullptr;
  std::uint64_t groups = 0;
  std::uint32_t threads_per_group = 0;
  std::uint32_t arena_bytes = 0;  // static and dynamic threadgroup memory
  bool use_span = false;
  bool checked = false;
  std::vector<Range> ranges;

 private:
  std::vector<Buffer> buffers_;
  TextureTable textures_;
  std::vector<std::unique_ptr<std::byte[]>> constants_;
};

}  // namespace metalbench::cpu
