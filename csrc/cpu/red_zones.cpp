#include "cpu/red_zones.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace metalbench::cpu {
namespace {

// Frame layout of AddressSanitizer: eight bytes share one shadow byte. It is 0 if all eight belong
// to a variable, or the number of leading bytes that do. A frame begins with its left red zone,
// which begins with a magic number and the description of the variables.
constexpr std::uintptr_t granule = 8;
constexpr mb::u8 left_zone = 0xf1;
constexpr std::uint64_t frame_magic = 0x41B58AB3;

struct Variable {
  std::string name;
  std::int64_t begin = 0;  // in the frame
  std::int64_t bytes = 0;
};

const mb::u8* zones_of(const mb::Fiber* fiber) { return fiber->shadow + mb::zones_at; }

// Return the begin and the description of the frame that contains a granule.
std::optional<std::pair<std::uintptr_t, const char*>> frame_of(const mb::Fiber* fiber,
                                                               std::uintptr_t at) {
  const mb::u8* zones = zones_of(fiber);
  const std::uintptr_t stack =
      reinterpret_cast<std::uintptr_t>(fiber) / mb::stack_bytes * mb::stack_bytes;
  for (std::uintptr_t i = at + 1; i-- > 0;) {
    if (zones[i] != left_zone || (i > 0 && zones[i - 1] == left_zone)) continue;
    const auto* words = reinterpret_cast<const std::uint64_t*>(stack + i * granule);
    if (words[0] != frame_magic) return std::nullopt;
    return std::pair(i * granule, reinterpret_cast<const char*>(words[1]));
  }
  return std::nullopt;
}

// Return the nearest of `n begin size length name begin size length name ...`; a name may end in
// `:line`.
Variable nearest(const char* described, std::int64_t at) {
  char* next = nullptr;
  Variable found;
  std::int64_t least = INT64_MAX;
  for (std::int64_t left = std::strtoll(described, &next, 10); left > 0; --left) {
    Variable each;
    each.begin = std::strtoll(next, &next, 10);
    each.bytes = std::strtoll(next, &next, 10);
    const auto length = static_cast<std::size_t>(std::strtoll(next, &next, 10));
    each.name = std::string(next + 1, length);
    next += 1 + length;
    const std::int64_t away =
        std::max({each.begin - at, at - (each.begin + each.bytes - 1), std::int64_t{0}});
    if (away < least) {
      least = away;
      found = each;
    }
  }
  found.name.resize(std::min({found.name.size(), found.name.find(':'), found.name.find('.')}));
  return found;
}

std::string place(const Variable& variable, std::int64_t at) {
  const std::string name = "`" + variable.name + "`";
  const std::int64_t end = variable.begin + variable.bytes;
  if (at < variable.begin) {
    return std::to_string(variable.begin - at) + " bytes before " + name;
  }
  if (at < end) return "of " + name + ", whose scope has ended";
  return "past the end of " + name + ": at byte " + std::to_string(at - variable.begin) + " of " +
         std::to_string(variable.bytes);
}

}  // namespace

bool allows_private(const mb::Fiber* fiber, const std::byte* begin, std::uint64_t bytes,
                    const char* verb, std::array<char, 512>& text) {
  const std::uintptr_t first = mb::offset_in_stack(fiber, begin);
  if (bytes == 0 || first >= mb::stack_bytes - bytes) return true;
  const mb::u8* zones = zones_of(fiber);
  const std::uintptr_t end = first + bytes;
  std::uintptr_t bad = end;
  for (std::uintptr_t i = first / granule; i * granule < end && bad == end; ++i) {
    if (zones[i] == 0) continue;
    const std::uintptr_t usable = zones[i] < granule ? i * granule + zones[i] : i * granule;
    if (usable < std::min(end, (i + 1) * granule)) bad = std::max(first, usable);
  }
  if (bad == end) return true;
  const auto frame = frame_of(fiber, bad / granule);
  std::string where = "of private memory outside of all variables";
  if (frame) {
    const auto at = static_cast<std::int64_t>(bad - frame->first);
    where = place(nearest(frame->second, at), at);
  }
  std::snprintf(text.data(), text.size(), "%s of %" PRIu64 " bytes %s, in private memory", verb,
                bytes, where.c_str());
  return false;
}

}  // namespace metalbench::cpu
