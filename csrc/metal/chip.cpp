#include "metal/chip.h"

#include <algorithm>
#include <array>

namespace metalbench::metal {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string chip_of(std::string_view device_name) {
  constexpr std::string_view maker = "Apple M";
  if (!device_name.starts_with(maker)) return "";
  const std::string_view rest = device_name.substr(maker.size());
  const std::size_t digits = std::ranges::find_if_not(rest, is_digit) - rest.begin();
  if (digits == 0) return "";

  const std::string family = "m" + std::string(rest.substr(0, digits));
  const std::string_view tier = rest.substr(digits);
  if (tier.empty()) return family;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> tiers{
      {{" Pro", "_pro"}, {" Max", "_max"}, {" Ultra", "_ultra"}}};
  for (const auto& [spoken, suffix] : tiers) {
    if (tier == spoken) return family + std::string(suffix);
  }
  return "";
}

}  // namespace metalbench::metal
