#include "cpu/private_shadow.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace metalbench::cpu {
namespace {

// Maximum number of recorded declarations.
constexpr std::size_t most_origins = 1 << 14;

}  // namespace

PrivateShadow::PrivateShadow(const Stacks& stacks, std::uint32_t count, mb::u8* arena,
                             std::uint32_t arena_bytes)
    : stacks_(stacks),
      count_(count),
      arena_(arena),
      memory_(count * mb::shadow_bytes),
      arena_shadow_(arena_bytes / 4),
      arena_origins_(arena_bytes / 4),
      origins_(most_origins) {}

bool PrivateShadow::contains(const std::byte* address) const {
  const auto* arena = reinterpret_cast<const std::byte*>(arena_shadow_.data());
  const auto* origins = reinterpret_cast<const std::byte*>(arena_origins_.data());
  const std::size_t arena_bytes = 4 * arena_shadow_.size();
  if (address >= arena && address < arena + arena_bytes) return true;
  if (address >= origins && address < origins + arena_bytes) return true;
  const auto* first = memory_.as<std::byte>();
  return address >= first && address < first + count_ * mb::shadow_bytes;
}

void PrivateShadow::begin() { std::ranges::fill(origins_, Origin{}); }

void PrivateShadow::start_group(std::uint32_t arena_bytes) {
  const std::size_t bytes = std::min<std::size_t>(arena_bytes, 4 * arena_shadow_.size());
  std::memset(arena_shadow_.data(), 0xff, bytes);
  std::memset(arena_origins_.data(), 0, bytes);
  if (!std::exchange(is_abandoned_, false)) return;
  for (std::uint32_t i = 0; i < count_; ++i) {
    std::memset(of(i) + mb::zones_at, 0, mb::stack_bytes / 8);
  }
}

void PrivateShadow::forget_zones(const mb::Fiber* fiber, const void* frame) {
  const std::uintptr_t first = mb::offset_in_stack(fiber, frame) / 8;
  std::memset(fiber->shadow + mb::zones_at + first, 0, mb::stack_bytes / 8 - first);
}

void PrivateShadow::forget_unwritten(const mb::Metadata& of, std::uint64_t bytes) {
  // An origin covers four bytes.
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(of.shadow) % 4;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (of.shadow[i] != 0 && of.origins[(first + i) / 4] == 0) of.shadow[i] = 0;
  }
}

void PrivateShadow::given(const void* address, std::uint64_t bytes) {
  if (is_in_arena(address)) forget_unwritten(followed(address), bytes);
}

std::uint32_t PrivateShadow::born(const char* name, const void* pc) {
  const auto first = reinterpret_cast<std::uintptr_t>(pc) * 0x9E3779B97F4A7C15ULL >> 50;
  for (std::uint64_t i = 0; i < most_origins; ++i) {
    const auto slot = static_cast<std::uint32_t>((first + i) % most_origins);
    Origin& origin = origins_[slot];
    if (origin.pc == nullptr) origin = {name, pc};
    if (origin.pc == pc) return slot + 1;
  }
  return 0;
}

PrivateShadow::Origin PrivateShadow::origin(std::uint32_t number) const {
  return number == 0 || number > most_origins ? Origin{} : origins_[number - 1];
}

mb::Metadata PrivateShadow::followed(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (stacks_.contains(address)) {
    const auto index =
        static_cast<std::uint32_t>((at - reinterpret_cast<std::uintptr_t>(stacks_.fiber(0)) /
                                             mb::stack_bytes * mb::stack_bytes) /
                                   mb::stack_bytes);
    const std::uintptr_t offset = at % mb::stack_bytes;
    return {of(index) + offset,
            reinterpret_cast<mb::u32*>(of(index) + mb::origins_at + offset / 4 * 4)};
  }
  const std::uintptr_t offset = at - reinterpret_cast<std::uintptr_t>(arena_);
  if (offset >= 4 * arena_shadow_.size()) return {nullptr, nullptr};
  auto* shadow = const_cast<mb::u32*>(arena_shadow_.data());
  auto* origins = const_cast<mb::u32*>(arena_origins_.data());
  return {reinterpret_cast<mb::u8*>(shadow) + offset, origins + offset / 4};
}

mb::Metadata PrivateShadow::metadata(const mb::Fiber* fiber, const void* address,
                                     std::uint64_t bytes, bool is_store, const void* pc) {
  const mb::Metadata found = followed(address);
  if (found.shadow != nullptr) {
    if (!is_store && is_in_arena(address)) forget_unwritten(found, bytes);
    return found;
  }
  mb::ShadowState* state = mb::shadow_state(fiber);
  if (!is_store) return {state->zeros, reinterpret_cast<mb::u32*>(state->zeros)};
  std::memset(state->sink, 0, std::min<std::uint64_t>(bytes, sizeof state->sink));
  state->written = address;
  state->written_bytes = bytes;
  state->writer = pc;
  return {state->sink, reinterpret_cast<mb::u32*>(state->sink_origins)};
}

void PrivateShadow::copy(const mb::Fiber* fiber, const void* to, const void* from,
                         std::uint64_t bytes, const void* pc, const Storage::Unwritten* unwritten) {
  const mb::Metadata target = followed(to);
  const mb::Metadata source = from == nullptr ? mb::Metadata{nullptr, nullptr} : followed(from);
  mb::ShadowState* state = mb::shadow_state(fiber);
  if (target.shadow == nullptr) {
    // Padding is never initialised, so all bytes must be uninitialised.
    const bool is_told = source.shadow != nullptr && is_in_arena(from) && *source.origins == 0;
    const bool is_bad =
        source.shadow != nullptr && bytes != 0 && !is_told &&
        std::all_of(source.shadow, source.shadow + bytes, [](mb::u8 bits) { return bits != 0; });
    state->written = is_bad ? to : nullptr;
    state->written_bytes = 1;
    state->writer = pc;
    state->sink[0] = is_bad ? 0xff : 0;
    if (is_bad) std::memcpy(state->sink_origins, source.origins, sizeof(mb::u32));
    return;
  }
  if (source.shadow == nullptr) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
      const bool is_missing = unwritten != nullptr && unwritten[i].load() != 0;
      target.shadow[i] = is_missing ? 0xff : 0;
      if (is_missing) target.origins[i / 4] = mb::unknown_origin;
    }
    return;
  }
  std::memmove(target.shadow, source.shadow, bytes);
  std::memmove(target.origins, source.origins, (bytes + 3) / 4 * 4);
  if (!is_in_arena(from)) return;
  // A copy of only unwritten bytes has been reported already.
  const bool is_told =
      std::all_of(target.shadow, target.shadow + bytes, [](mb::u8 bits) { return bits == 0xff; }) &&
      std::all_of(target.origins, target.origins + (bytes + 3) / 4,
                  [](mb::u32 origin) { return origin == 0; });
  if (is_told) std::memset(target.shadow, 0, bytes);
  for (std::uint64_t i = 0; i < (bytes + 3) / 4; ++i) {
    if (target.origins[i] == 0) target.origins[i] = mb::unknown_origin;
  }
}

std::optional<PrivateShadow::Written> PrivateShadow::take_written(const mb::Fiber* fiber) {
  mb::ShadowState* state = mb::shadow_state(fiber);
  if (state->written == nullptr) return std::nullopt;
  const auto* at = static_cast<const std::byte*>(state->written);
  state->written = nullptr;
  const mb::u8* end =
      state->sink + std::min<std::uint64_t>(state->written_bytes, sizeof state->sink);
  const mb::u8* begin = state->sink;
  const mb::u8* bad = std::find_if(begin, end, [](mb::u8 bits) { return bits != 0; });
  if (bad == end) return std::nullopt;
  const auto* origins = reinterpret_cast<const mb::u32*>(state->sink_origins);
  return Written{at + (bad - state->sink), origin(origins[(bad - state->sink) / 4]), state->writer};
}

}  // namespace metalbench::cpu
