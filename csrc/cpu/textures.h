// Textures and samplers in the kernels' representation.
#pragma once

#include <memory>
#include <vector>

#include "core/dispatch.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// The textures and samplers of one dispatch, by index. It keeps their memory alive.
class TextureTable {
 public:
  void bind(std::uint32_t index, const Textures& textures);
  void bind(std::uint32_t index, const Samplers& samplers);

  // Return whether the address lies in the table, which kernels read.
  [[nodiscard]] bool holds(const std::byte* address) const;
  [[nodiscard]] const mb::Texture* textures() const { return textures_.data(); }
  [[nodiscard]] const mb::Sampler* samplers() const { return samplers_.data(); }

 private:
  std::vector<mb::Texture> textures_;
  std::vector<mb::Sampler> samplers_;
  std::vector<std::shared_ptr<const mb::Texture>> owners_;
};

// Make the texture descriptor that kernels read through an address in a buffer.
[[nodiscard]] std::shared_ptr<const mb::Texture> describe(const Texture& texture);

// Copy the compiler's description of a texture or sampler parameter to `argument`.
void describe(const mb::ArgumentInfo& found, Argument& argument);

}  // namespace metalbench::cpu
