#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "cpu/counter.h"
#include "cpu/findings.h"
#include "cpu/library.h"
#include "cpu/memory_check_shadow.h"
#include "cpu/module.h"
#include "cpu/storages.h"
#include "cpu/textures.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// Memory that a kernel may touch, with the name to use in reports.
struct Range {
  std::string name;
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  std::size_t element_bytes = 0;
  bool is_writable = false;
  bool is_input = false;     // of a check: must not be written, whatever its type says
  bool is_constant = false;  // of Metal's constant memory
  bool is_texture = false;
  bool is_read_back = false;  // of a texture: that the kernel may write to and read
  // Of checked launches: what is known of its bytes; null for constants, which nobody writes.
  Region* region = nullptr;
  std::optional<Buffer> buffer;
};

// A threadgroup variable or argument: where it lies in threadgroup memory.
struct ArenaPart {
  std::string name;
  std::size_t begin = 0, end = 0;
};

// A dispatch in the form in which workers run it. Keeps everything alive that it points to.
struct Launch {
  Launch(const Dispatch& dispatch, const CpuPipeline& pipeline);

  // The same launch of a kernel that does nothing.
  void make_null();
  // Watches the memory of all checked launches of a program; null if there are none.
  static std::shared_ptr<Shadow> watch(std::span<const std::unique_ptr<Launch>> launches);
  // Before a run: what this launch writes unseen counts as written.
  void assume_written() const;
  // Whether it lies in the launch's own description, which kernels read to find their arguments.
  [[nodiscard]] bool describes(const std::byte* address) const;
  // The one that a program counter lies in, as far as that is known.
  [[nodiscard]] const Module& module_of(const void* pc) const;

  mb::Launch shared{};
  std::shared_ptr<const Module> module;
  std::string kernel;
  GroupEntry entry;
  GroupEntry edge_entry;  // of groups with fewer threads along x
  mb::SpanEntry span_entry = nullptr;
  std::uint64_t groups = 0;
  std::uint32_t fibers_per_group = 0;
  std::uint32_t arena_bytes = 0;  // static and dynamic threadgroup memory
  bool use_span = false;
  bool checked = false;
  // Threadgroups are taken from everywhere, so that a part of them says something of all.
  bool scattered = false;
  std::vector<Range> ranges;
  std::vector<ArenaPart> parts;              // of checked launches
  std::shared_ptr<Shadow> shadow;            // of checked launches
  std::shared_ptr<const Storages> storages;  // of the device
  std::unique_ptr<Counter> counter;          // of counted launches
  // Where a run that goes on after faults keeps them, and this launch's number there; else null.
  Findings* findings = nullptr;
  std::size_t number = 0;

 private:
  void list_parts(const Dispatch& dispatch, const PipelineInfo& kernel);
  void enter_groups(const CpuPipeline& pipeline);
  void bind(const Binding& binding, const PipelineInfo& kernel);
  std::byte* add_buffer(const std::string& name, const Buffer& buffer, const Argument* argument);
  void add_textures(const Binding& binding, const Textures& textures, const Argument* argument);

  TextureTable textures_;
  std::vector<Buffer> texels_;
  std::vector<std::unique_ptr<std::byte[]>> constants_;
};

}  // namespace metalbench::cpu
