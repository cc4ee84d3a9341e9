// Runs the parts of the Metal device that need no Metal: `pure_parts chip NAME...`,
// `pure_parts includes FILENAME DIR...` with the source on stdin.
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "core/includes.h"
#include "metal/chip.h"

int main(int count, char** arguments) {
  using namespace metalbench;
  std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.empty()) return 2;
  const std::string what = words.front();
  words.erase(words.begin());
  if (what == "chip") {
    for (const std::string& name : words) std::cout << metal::chip_of(name) << '\n';
    return 0;
  }
  if (what == "includes" && !words.empty()) {
    const std::string source(std::istreambuf_iterator<char>(std::cin), {});
    const std::string filename = words.front();
    words.erase(words.begin());
    std::cout << with_includes(source, filename, words);
    return 0;
  }
  return 2;
}
