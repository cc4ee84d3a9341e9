#include "cuda/chip.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace metalbench::cuda {
namespace {

constexpr std::array<std::string_view, 4> brands = {"nvidia", "geforce", "quadro", "tesla"};
// Suffixes after the number, which denote different GPUs.
constexpr std::array<std::string_view, 2> grades = {"ti", "super"};

bool is_one_of(const auto& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_digit(const std::string& word) {
  return std::ranges::any_of(word, [](unsigned char each) { return std::isdigit(each) != 0; });
}

// Return runs of letters and of digits, in lower case.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const unsigned char each : name) {
    if (std::isalnum(each) != 0) {
      words.back() += static_cast<char>(std::tolower(each));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

}  // namespace

std::string chip_of(const std::string& name) {
  std::string chip;
  bool numbered = false;
  for (const std::string& word : words_of(name)) {
    if (is_one_of(brands, word)) continue;
    if (numbered && !is_one_of(grades, word)) break;
    chip += (chip.empty() ? "" : "_") + word;
    numbered = numbered || has_digit(word);
  }
  return numbered ? chip : "";
}

}  // namespace metalbench::cuda
