#include "executor/readable_text.h"

#include <cstddef>

namespace metalbench::executor {
namespace {

// Return the length of a UTF-8 character from its first byte; 0 if that is invalid.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return first >= 0x20 || first == '\n' || first == '\t' ? 1 : 0;
  if (first >= 0xC2 && first < 0xE0) return 2;
  // Surrogates and code points above Unicode's limit are excluded together with their neighbours.
  if (first > 0xE0 && first < 0xED) return 3;
  return 0;
}

bool is_character(const std::string& text, std::size_t begin, std::size_t length) {
  if (length == 0 || begin + length > text.size()) return false;
  for (std::size_t i = begin + 1; i < begin + length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return false;
  }
  return true;
}

}  // namespace

std::string readable(const std::string& text) {
  std::string clean;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = length_of(static_cast<unsigned char>(text[i]));
    if (is_character(text, i, length)) {
      clean.append(text, i, length);
      i += length;
    } else {
      clean += '?';
      ++i;
    }
  }
  return clean;
}

}  // namespace metalbench::executor
