// Encoding of dispatches as commands of a compute encoder.
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
#include "metal/residency.h"
#include "metal/textures.h"

namespace metalbench::metal {

struct Command {
  enum class Kind : std::uint8_t {
    pipeline,
    buffer,
    bytes,
    texture,
    sampler,
    tensor,
    arguments,  // a table of Metal 4, instead of all that is bound
    threadgroup_memory,
    resource,
    threads,
    threadgroups,
  };

  Kind kind = Kind::pipeline;
  NSUInteger index = 0;
  id object = nil;        // pipeline, buffer, texture, sampler, tensor or table
  NSUInteger offset = 0;  // in the buffer
  Bytes bytes{};
  NSUInteger length = 0;  // of threadgroup memory
  MTLSize grid{};
  MTLSize threads{};
};

using Commands = std::vector<Command>;

void send(const Commands& commands, id<MTLComputeCommandEncoder> encoder);

// The encoder commands of a program, prepared once. An encoder keeps its state, so only changes
// between dispatches are encoded: repeated passes of one dispatch are one setup and one dispatch
// command each.
class Script {
 public:
  // `is_metal4`: the commands are for an encoder of Metal 4, see metal4.h.
  Script(const Gpu& gpu, bool is_metal4)
      : device_(gpu.device()),
        capabilities_(gpu.capabilities()),
        is_metal4_(is_metal4),
        textures_(gpu),
        resident_(gpu.residency()) {}

  // Add a dispatch of this kernel; its textures must be noted before. Throws DispatchError for
  // another device's memory.
  void add(const Dispatch& dispatch, id<MTLComputePipelineState> state);
  // Call after the last add().
  void finish();

  void encode(id<MTLComputeCommandEncoder> encoder, std::uint32_t passes) const;

  [[nodiscard]] bool is_metal4() const { return is_metal4_; }
  [[nodiscard]] const Commands& first_pass() const { return first_pass_; }
  [[nodiscard]] const Commands& later_pass() const { return later_pass_; }

  // Return the number of launches in one pass.
  [[nodiscard]] std::size_t dispatches() const { return dispatches_.size(); }
  // Return whether nothing is to be run, as with empty grids.
  [[nodiscard]] bool empty() const { return dispatches_.empty(); }
  [[nodiscard]] TextureSet& textures() { return textures_; }
  // Return the kernels' names: "sums, total".
  [[nodiscard]] const std::string& names() const { return names_; }
  [[nodiscard]] NSString* label() const { return label_; }

 private:
  // State of an encoder, by kind and index.
  using Slots = std::map<std::pair<Command::Kind, NSUInteger>, Command>;

  [[nodiscard]] static Commands one_pass(std::span<const Commands> dispatches, Slots& slots);
  void bind(const Dispatch& dispatch, Commands& commands);
  void bind(const Binding& binding, const Argument& argument, const std::string& where,
            Commands& commands);
  void bind_tensor(const Dispatch& dispatch, const Binding& tensor, const Binding& extents,
                   Commands& commands);
  [[nodiscard]] Command constant(const Bytes& bytes, const std::string& where);

  id<MTLDevice> device_;
  const Capabilities& capabilities_;
  bool is_metal4_;
  TextureSet textures_;
  // Metal 4 knows only what is in a residency set, and keeps nothing alive.
  ResidentObjects resident_;
  std::vector<Commands> bound_;
  std::vector<Dispatch> owners_;      // own the memory that commands refer to
  std::vector<Commands> dispatches_;  // each with its whole setup
  Commands first_pass_;
  Commands later_pass_;
  std::string names_;
  NSString* label_ = @"";
};

}  // namespace metalbench::metal
