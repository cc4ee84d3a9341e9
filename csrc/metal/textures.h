// Textures of a program. The host stores texels in rows, Metal in the GPU's layout. So texels are
// copied before and after a window, outside of its timing.
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

  // Record the dispatch's use of its textures, for all dispatches before the first find(). Throws
  // Unsupported for arguments that Metal cannot bind.
  void note(const Dispatch& dispatch);
  // Return one texture per texel buffer. Throws Error if Metal has no memory for it.
  [[nodiscard]] id<MTLTexture> find(const Texture& texture, const Argument& argument);

  [[nodiscard]] bool empty() const { return uses_.empty(); }
  void copy_in() const;
  // Copy the textures that kernels write to back to the host.
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

// Return the argument of a binding.
[[nodiscard]] const Argument& argument_of(const PipelineInfo& info, const Binding& binding);

}  // namespace metalbench::metal
