// Dispatches as the messages that a compute encoder gets.
#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/dispatch.h"
#include "metal/gpu.h"
#include "metal/textures.h"

namespace metalbench::metal {

struct Command {
  enum class Kind : std::uint8_t {
    pipeline,
    buffer,
    bytes,
    texture,
    sampler,
    threadgroup_memory,
    resource,
    threads,
    threadgroups,
  };

  Kind kind = Kind::pipeline;
  NSUInteger index = 0;
  id object = nil;        // the pipeline, buffer, texture or sampler
  NSUInteger offset = 0;  // within the buffer
  Bytes bytes{};
  NSUInteger length = 0;  // of threadgroup memory
  MTLSize grid{};
  MTLSize threads{};
};

using Commands = std::vector<Command>;

// What the host says to an encoder, made once. An encoder keeps what was set, so only what changes
// from one dispatch to the next is said: passes of one dispatch are one setup and a message each.
class Script {
 public:
  explicit Script(const Gpu& gpu) : device_(gpu.device()), textures_(gpu) {}

  // Adds a dispatch, whose textures are noted already, with this kernel. Throws DispatchError for
  // memory of another device's.
  void add(const Dispatch& dispatch, id<MTLComputePipelineState> state);
  // To be called after the last one.
  void finish();

  void encode(id<MTLComputeCommandEncoder> encoder, std::uint32_t passes) const;

  // How many launches one pass has.
  [[nodiscard]] std::size_t dispatches() const { return dispatches_.size(); }
  // Whether there is anything to run: not when all grids are empty.
  [[nodiscard]] bool empty() const { return dispatches_.empty(); }
  [[nodiscard]] TextureSet& textures() { return textures_; }
  // Of the kernels: "sums, total".
  [[nodiscard]] const std::string& names() const { return names_; }
  [[nodiscard]] NSString* label() const { return label_; }

 private:
  // What an encoder has, by kind and index.
  using Slots = std::map<std::pair<Command::Kind, NSUInteger>, Command>;

  [[nodiscard]] static Commands one_pass(std::span<const Commands> dispatches, Slots& slots);
  void bind(const Dispatch& dispatch, Commands& commands);
  void bind(const Binding& binding, const Argument& argument, const std::string& where,
            Commands& commands);

  id<MTLDevice> device_;
  TextureSet textures_;
  std::vector<Dispatch> owners_;      // of the memory that commands name
  std::vector<Commands> dispatches_;  // each with all of its setup
  Commands first_pass_;
  Commands later_pass_;
  std::string names_;
  NSString* label_ = @"";
};

}  // namespace metalbench::metal
