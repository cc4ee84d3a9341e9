// Textures and samplers in the form in which kernels see them.
#pragma once

#include <memory>
#include <vector>

#include "core/dispatch.h"
#include "msl/mb/abi.h"

namespace metalbench::cpu {

// The textures and samplers of one dispatch, by index. Keeps their memory alive.
class TextureTable {
 public:
  void bind(std::uint32_t index, const Textures& textures);
  void bind(std::uint32_t index, const Samplers& samplers);

  // Whether it lies in what kernels find their textures and samplers by.
  [[nodiscard]] bool holds(const std::byte* address) const;
  [[nodiscard]] const mb::Texture* textures() const { return textures_.data(); }
  [[nodiscard]] const mb::Sampler* samplers() const { return samplers_.data(); }

 private:
  std::vector<mb::Texture> textures_;
  std::vector<mb::Sampler> samplers_;
  std::vector<std::shared_ptr<const mb::Texture>> owners_;
};

// A texture as kernels find it through an address in a buffer.
[[nodiscard]] std::shared_ptr<const mb::Texture> describe(const Texture& texture);

// What the compiler found out about a texture or sampler parameter.
void describe(const mb::ArgumentInfo& found, Argument& argument);

}  // namespace metalbench::cpu
