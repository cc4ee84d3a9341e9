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

// Memory that a kernel may access, with its name in reports.
struct Range {
  std::string name;
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  std::size_t element_bytes = 0;
  bool is_writable = false;
  bool is_input = false;     // of a checked run: must not be written, even if its type permits it
  bool is_constant = false;  // in Metal's constant address space
  bool is_texture = false;
  bool is_read_back = false;  // a texture with read_write access
  // Access history of checked launches; null for constants, which no thread writes.
  Region* region = nullptr;
  std::optional<Buffer> buffer;
};

// Position of a threadgroup variable or argument in threadgroup memory.
struct ArenaPart {
  std::string name;
  std::size_t begin = 0, end = 0;
};

// A dispatch prepared for the workers. It owns a reference to everything that it points to.
struct Launch {
  Launch(const Dispatch& dispatch, const CpuPipeline& pipeline);

  // Use other buffers, in the order of the dispatch's bindings, which must all be buffers. The
  // launch does not keep them alive. Not for checked launches.
  void rebind(std::span<const Buffer> buffers);
  // Replace the kernel by an empty one.
  void make_null();
  // Make the shadow memory of all checked launches of a program; null without checked launches.
  static std::shared_ptr<Shadow> watch(std::span<const std::unique_ptr<Launch>> launches);
  // Mark memory as written before a run where this launch's writes are not observed.
  void assume_written() const;
  // Return whether the address lies in the launch's argument description, which kernels read.
  [[nodiscard]] bool describes(const std::byte* address) const;
  // Return the module that contains a program counter, as far as known.
  [[nodiscard]] const Module& module_of(const void* pc) const;

  mb::Launch shared{};
  std::shared_ptr<const Module> module;
  std::string kernel;
  GroupEntry entry;
  GroupEntry edge_entry;  // for threadgroups with fewer threads along x
  mb::SpanEntry span_entry = nullptr;
  std::uint64_t groups = 0;
  std::uint32_t fibers_per_group = 0;
  std::uint32_t arena_bytes = 0;  // static and dynamic threadgroup memory together
  bool use_span = false;
  bool checked = false;
  // Take threadgroups from all over the grid, so that a part of them represents the whole.
  bool scattered = false;
  std::vector<Range> ranges;
  std::vector<ArenaPart> parts;              // of checked launches
  std::shared_ptr<Shadow> shadow;            // of checked launches
  std::shared_ptr<const Storages> storages;  // of the device
  std::unique_ptr<Counter> counter;          // of counted launches
  // Findings of a run that continues after faults, and this launch's number in them; else null.
  Findings* findings = nullptr;
  std::size_t number = 0;

 private:
  void list_parts(const Dispatch& dispatch, const PipelineInfo& kernel);
  void enter_groups(const CpuPipeline& pipeline);
  void bind(const Binding& binding, const PipelineInfo& kernel);
  std::byte* add_buffer(const std::string& name, const Buffer& buffer, const Argument* argument);
  void add_textures(const Binding& binding, const Textures& textures, const Argument* argument);

  std::vector<std::uint32_t> binding_indices_;  // in the order of the dispatch's bindings
  TextureTable textures_;
  std::vector<Buffer> texels_;
  std::vector<std::unique_ptr<std::byte[]>> constants_;
};

}  // namespace metalbench::cpu
