#include "cpu/texel_check.h"

#include <algorithm>
#include <cstdio>

namespace metalbench::cpu {

void describe(const mb::OutsideTexel& what, std::span<const Range> ranges,
              std::array<char, 512>& text) {
  const mb::Texture& texture = *what.texture;
  const auto* begin = reinterpret_cast<const std::byte*>(texture.base.data);
  const auto found = std::ranges::find_if(ranges, [begin](const Range& range) {
    return range.is_texture && range.begin <= begin && begin < range.end;
  });
  const char* name = found == ranges.end() ? "a texture" : found->name.c_str();
  if (what.level >= texture.level_count) {
    std::snprintf(text.data(), text.size(), "%s of level %u of `%s`, which has %u; Metal %s",
                  what.is_write ? "write" : "read", what.level, name, texture.level_count,
                  what.is_write ? "drops such writes" : "gives 0");
    return;
  }
  const mb::TextureLevel& level = mb::level_of(texture, what.level);
  std::snprintf(text.data(), text.size(),
                "%s outside of `%s`: at texel (%u, %u, %u) of (%u, %u, %u); Metal %s",
                what.is_write ? "write" : "read", name, what.place[0], what.place[1], what.place[2],
                level.width, level.height, level.slices,
                what.is_write ? "drops such writes" : "gives 0 there");
}

}  // namespace metalbench::cpu
