#include "cpu/texel_check.h"

#include <algorithm>
#include <cstdio>

#include "cpu/memory_check.h"

namespace metalbench::cpu {

const Range* texture_range(const mb::Texture& texture, std::span<const Range> ranges) {
  const auto* begin = reinterpret_cast<const std::byte*>(texture.base.data);
  const auto found = std::ranges::find_if(ranges, [begin](const Range& range) {
    return range.is_texture && range.begin <= begin && begin < range.end;
  });
  return found == ranges.end() ? nullptr : &*found;
}

void describe(const mb::OutsideTexel& what, std::span<const Range> ranges,
              std::array<char, 512>& text) {
  const mb::Texture& texture = *what.texture;
  const Range* found = texture_range(texture, ranges);
  const char* name = found == nullptr ? "a texture" : found->name.c_str();
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

void MemoryCheck::fence_texels(const mb::Texture* texture, std::uint32_t thread) {
  const Range* range = texture == nullptr ? nullptr : texture_range(*texture, launch_->ranges);
  if (texture != nullptr && range == nullptr) return;
  texel_fences_.fence(thread, range == nullptr ? nullptr : range->begin);
}

bool MemoryCheck::is_fenced(const Range& range, const MemoryAccess& access, Fault& fault) {
  const std::uint32_t thread = access.thread->index;
  if (access.kind == mb::AccessKind::write) {
    texel_fences_.write(access.begin, thread, access.pc);
    return true;
  }
  if (access.kind != mb::AccessKind::read) return true;
  fault.born = texel_fences_.unseen(access.begin, thread, range.begin);
  if (fault.born == nullptr) return true;
  fault.rule = Rule::texture_fence;
  fault.memory = range.begin;
  std::snprintf(fault.text.data(), fault.text.size(),
                "read of the texel of `%s` at byte %td, which the same thread has written with no "
                "%s.fence() in between",
                range.name.c_str(), access.begin - range.begin, range.name.c_str());
  return false;
}

}  // namespace metalbench::cpu
