#include "core/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace metalbench {
namespace {

// Levenshtein distance, ignoring case.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i])) ==
                        std::tolower(static_cast<unsigned char>(b[j]));
      const std::size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  const auto nearest = std::ranges::min_element(
      known, {}, [&name](const std::string& each) { return distance(name, each); });
  const std::size_t most = std::max<std::size_t>(1, name.size() / 2);
  // If all letters of a short name differ, it is another name.
  if (nearest == known.end() || distance(name, *nearest) > most) return "";
  const bool shares = distance(name, *nearest) < std::max(name.size(), nearest->size());
  return shares ? "did you mean `" + *nearest + "`?" : "";
}

}  // namespace metalbench
