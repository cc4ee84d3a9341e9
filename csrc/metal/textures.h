// The textures of a program. The host's texels lie in rows; Metal's lie as the GPU likes them, so
// that they are copied in before a window and back after it, outside of what is timed.
#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "metal/gpu.h"

namespace metalbench::metal {

class TextureSet {
 public:
  explicit TextureSet(const Gpu& gpu)
      : device_(gpu.device()), atomics_(gpu.capabilities().texture_atomics) {}

  // What the dispatch does with its textures; for all dispatches before the first of find().
  // Throws Unsupported for what Metal cannot bind.
  void note(const Dispatch& dispatch);
  // The same one for the same texels. Throws Error when Metal has no memory for it.
  [[nodiscard]] id<MTLTexture> find(const Texture& texture, const Argument& argument);

  [[nodiscard]] bool empty() const { return uses_.empty(); }
  void copy_in() const;
  // Of those that kernels write to.
  void copy_back() const;

 private:
  struct Use {
    Texture texture;
    std::string where;  // names the kernel and its argument
    bool depth = false;
    bool read = false;
    bool written = false;
    id<MTLTexture> made = nil;
    id<MTLBuffer> texels = nil;  // of a texture_buffer
  };

  [[nodiscard]] Use* find_use(const Texture& texture, bool depth);
  void make(Use& use) const;

  id<MTLDevice> device_;
  TextureAtomics atomics_;
  std::vector<Use> uses_;
};

// The argument that a binding is for.
[[nodiscard]] const Argument& argument_of(const PipelineInfo& info, const Binding& binding);

}  // namespace metalbench::metal
