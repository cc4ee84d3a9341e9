#include "core/includes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/errors.h"

namespace metalbench {
namespace {

namespace fs = std::filesystem;

// Size limit of a candidate's file (metalbench/kernel/source_files.py) and of a header: 8 MiB. The
// longest known kernel includes 30 headers with 300 KB in total.
constexpr std::size_t most_file_bytes = std::size_t{8} << 20;
constexpr std::size_t most_text_bytes = std::size_t{16} << 20;
constexpr std::size_t most_inclusions = 4096;
// A file with an include guard that includes itself ends earlier; this limits our own stack.
constexpr std::size_t most_nested = 200;

// Distinguishes code from comments over the lines of one file.
class Comments {
 public:
  // Return the line without its comments.
  std::string strip(std::string_view line) {
    std::string code;
    for (std::size_t i = 0; i < line.size();) i = step(line, i, code);
    // A backslash also continues a line comment.
    line_comment_ = line_comment_ && line.ends_with('\\');
    quote_ = 0;
    return code;
  }

  [[nodiscard]] bool open() const { return block_comment_; }

  static bool is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

 private:
  std::size_t step(std::string_view line, std::size_t i, std::string& code) {
    const std::string_view two = line.substr(i, 2);
    if (line_comment_) return line.size();
    if (block_comment_) {
      if (two != "*/") return i + 1;
      block_comment_ = false;
      code += ' ';
      return i + 2;
    }
    if (quote_ == 0 && two == "//") {
      line_comment_ = true;
      return line.size();
    }
    if (quote_ == 0 && two == "/*") {
      block_comment_ = true;
      return i + 2;
    }
    if (quote_ != 0 && line[i] == '\\') {
      code += two;
      return i + 2;
    }
    note_quote(line, i);
    code += line[i];
    return i + 1;
  }

  void note_quote(std::string_view line, std::size_t i) {
    const char c = line[i];
    if (quote_ == c) {
      quote_ = 0;
    } else if (quote_ == 0 && c == '"') {
      quote_ = c;
    } else if (quote_ == 0 && c == '\'' && (i == 0 || !is_word(line[i - 1]))) {
      quote_ = c;  // otherwise it separates digits
    }
  }

  bool block_comment_ = false;
  bool line_comment_ = false;
  char quote_ = 0;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

struct Directive {
  std::string name;
  std::string rest;
};

std::optional<Directive> directive_of(std::string_view code) {
  std::string_view text = trimmed(code);
  if (!text.starts_with('#')) return std::nullopt;
  text = trimmed(text.substr(1));
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  return Directive{std::string(text.substr(0, end)),
                   std::string(end == std::string_view::npos ? "" : trimmed(text.substr(end)))};
}

struct Include {
  std::string name;
  bool quoted = true;
};

std::optional<Include> include_of(const Directive& directive) {
  if (directive.name != "include" && directive.name != "import") return std::nullopt;
  if (directive.rest.size() < 3) return std::nullopt;
  const char closing = directive.rest[0] == '"' ? '"' : directive.rest[0] == '<' ? '>' : 0;
  const std::size_t end = closing == 0 ? std::string::npos : directive.rest.find(closing, 1);
  if (end == std::string::npos) return std::nullopt;
  return Include{directive.rest.substr(1, end - 1), closing == '"'};
}

// Return the file's bytes; nothing for unreadable and irregular files.
std::optional<std::string> content_of(const fs::path& path) {
  // A pipe without a writer would block forever.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<std::string> content;
  struct stat status{};
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    content.emplace();
    char block[1 << 16];
    // The file may grow, so its size is not used.
    while (content && content->size() <= most_file_bytes) {
      const ssize_t count = ::read(file, block, sizeof block);
      if (count == 0) break;
      if (count < 0) {
        content.reset();
      } else {
        content->append(block, static_cast<std::size_t>(count));
      }
    }
  }
  ::close(file);
  if (content && content->size() > most_file_bytes) {
    throw CompileError(path.string() + ": error: expected at most " +
                       std::to_string(most_file_bytes >> 20) + " MiB in an included file");
  }
  return content;
}

bool is_within(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// Return the path with links resolved; empty if the file does not exist.
fs::path resolved(const fs::path& path) {
  std::error_code failure;
  const fs::path found = fs::canonical(path, failure);
  return failure ? fs::path() : found;
}

// Open branches of #if, #elif and #else. Each has a number; the whole text is 0.
class Branches {
 public:
  void note(const std::string& directive) {
    if (directive.starts_with("if")) {
      begin();
    } else if (directive.starts_with("el")) {
      end();
      begin();
    } else if (directive == "endif") {
      end();
    }
  }

  [[nodiscard]] std::size_t innermost() const { return open_.back(); }

  // Return whether a branch is compiled whenever the current place is.
  [[nodiscard]] bool is_open(std::size_t branch) const {
    return std::ranges::binary_search(open_, branch);
  }

 private:
  void begin() { open_.push_back(++last_); }
  void end() {
    if (open_.size() > 1) open_.pop_back();
  }

  std::vector<std::size_t> open_{0};
  std::size_t last_ = 0;
};

// The include guard of a file: the macro, and the lines of its #ifndef and #endif. Without a guard
// the macro is empty.
struct Guard {
  std::string macro;
  std::size_t first = 0;
  std::size_t last = 0;
};

// Return the macro of `#ifndef NAME`, `#if !defined(NAME)` and `#if !defined NAME`.
std::string guard_macro(const Directive& directive) {
  std::string_view text = trimmed(directive.rest);
  if (directive.name == "if") {
    if (!text.starts_with('!')) return {};
    text = trimmed(text.substr(1));
    if (!text.starts_with("defined")) return {};
    text = trimmed(text.substr(7));
    if (text.starts_with('(') && text.ends_with(')')) {
      text = trimmed(text.substr(1, text.size() - 2));
    }
  } else if (directive.name != "ifndef") {
    return {};
  }
  const bool named = !text.empty() && std::ranges::all_of(text, Comments::is_word);
  return named ? std::string(text) : std::string();
}

// Return the guard of a file that consists of #ifndef NAME, #define NAME, text and #endif.
Guard guard_of(const std::string& content) {
  Guard guard;
  Comments comments;
  std::size_t number = 0, depth = 0, directives = 0;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    const std::string code = comments.strip(std::string_view(content.data() + begin, end - begin));
    begin = end + 1;
    ++number;
    const auto directive = directive_of(code);
    if (guard.last != 0 || directives == 0) {
      // Outside of the guard.
      if (trimmed(code).empty()) continue;
      if (directive && directive->name == "pragma" && directive->rest == "once") continue;
      if (guard.last != 0 || !directive) return {};
    }
    if (!directive) {
      if (directives == 1 && !trimmed(code).empty()) return {};
      continue;
    }
    if (++directives == 1) {
      guard.macro = guard_macro(*directive);
      guard.first = number;
      if (guard.macro.empty()) return {};
    } else if (directives == 2) {
      const std::string_view defined = trimmed(directive->rest);
      const std::string_view name = defined.substr(0, defined.find_first_of(" \t"));
      if (directive->name != "define" || name != guard.macro) return {};
    }
    if (directive->name.starts_with("if")) {
      ++depth;
    } else if (directive->name.starts_with("el") && depth == 1) {
      return {};
    } else if (directive->name == "endif" && --depth == 0) {
      guard.last = number;
    }
  }
  return guard.last == 0 ? Guard{} : guard;
}

std::string marker(std::size_t line, const std::string& filename) {
  std::string text = "#line " + std::to_string(line) + " \"";
  for (const char c : filename) {
    // A line break would end the directive, and the rest of the name would become source text.
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (c == '"' || c == '\\') text += '\\';
    text += control ? '?' : c;
  }
  return text + "\"\n";
}

class Expander {
 public:
  Expander(const fs::path& folder, const std::vector<std::string>& include_dirs)
      : folders_(include_dirs.begin(), include_dirs.end()) {
    readable_.push_back(resolved(folder.empty() ? fs::path(".") : folder));
    for (const fs::path& each : folders_) readable_.push_back(resolved(each));
    std::erase(readable_, fs::path());
  }

  void expand(const std::string& source, const std::string& filename, const fs::path& folder,
              const Guard& guard = {}) {
    text_ += marker(1, filename);
    Comments comments;
    bool moved = false;  // whether the numbers of the following lines changed
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < source.size();) {
      const std::size_t end = std::min(source.find('\n', begin), source.size());
      const std::string_view line(source.data() + begin, end - begin);
      begin = end + 1;
      ++number;
      if (text_.size() > most_text_bytes) {
        throw CompileError(filename + ":" + std::to_string(number) + ": error: expected at most " +
                           std::to_string(most_text_bytes >> 20) +
                           " MiB of source with all included files");
      }
      const bool starts_in_comment = comments.open();
      const auto directive = directive_of(comments.strip(line));
      // The guard itself does not count as a branch: where it skips a text, that text was compiled
      // before.
      if (directive && !starts_in_comment && number != guard.first && number != guard.last) {
        note(*directive);
      }
      if (directive && !starts_in_comment &&
          include(*directive, folder, filename + ":" + std::to_string(number))) {
        moved = true;
        text_ += marker(number + 1, filename);
        if (comments.open()) text_ += "/*";
        continue;
      }
      // The compiler would warn about #pragma once in a main file, and the whole text is one now.
      if (!directive || !is_once(*directive)) text_ += line;
      text_ += '\n';
      // A marker among skipped lines would be skipped as well.
      if (moved && directive && ends_branch(*directive)) text_ += marker(number + 1, filename);
    }
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static bool ends_branch(const Directive& directive) {
    return directive.name == "endif" || directive.name.starts_with("el");
  }

  // Follow branches, and forget the insertions of files whose guard is undefined.
  void note(const Directive& directive) {
    branches_.note(directive.name);
    if (directive.name != "undef") return;
    for (auto& [name, file] : files_) {
      if (file.guard.macro == directive.rest) file.inserted_in.clear();
    }
  }

  // Return whether the directive was an include that has been inserted. `place` is its file and
  // line.
  bool include(const Directive& directive, const fs::path& folder, const std::string& place) {
    const auto wanted = include_of(directive);
    if (!wanted) return false;
    for (const fs::path& path : candidates(*wanted, folder)) {
      const File* file = read(path);
      if (file == nullptr) continue;
      if (++inclusions_ > most_inclusions) {
        throw CompileError(place + ": error: expected at most " + std::to_string(most_inclusions) +
                           " inclusions; include each header once");
      }
      if (stack_.size() >= most_nested) {
        throw CompileError(place + ": error: expected at most " + std::to_string(most_nested) +
                           " inclusions within each other");
      }
      insert(path, *file, directive.name == "import");
      return true;
    }
    return false;
  }

  // No absolute names, as in the engine's own compiler (msl/toolchain/file_access.py).
  [[nodiscard]] std::vector<fs::path> candidates(const Include& wanted,
                                                 const fs::path& folder) const {
    std::vector<fs::path> paths;
    if (fs::path(wanted.name).is_absolute()) return paths;
    if (wanted.quoted) paths.push_back(folder / wanted.name);
    for (const fs::path& other : folders_) paths.push_back(other / wanted.name);
    return paths;
  }

  struct File {
    std::string identity;
    std::string content;
    bool once = false;
    Guard guard;
    std::size_t number = 0;
    std::vector<std::size_t> inserted_in;  // branches with its text, if it is needed once only
  };

  // Return the file of a path; null if it is not inside the folders after links are resolved.
  const File* read(const fs::path& path) {
    const fs::path target = resolved(path);
    const auto holds = [&](const fs::path& folder) { return is_within(target, folder); };
    if (target.empty() || std::ranges::none_of(readable_, holds)) return nullptr;
    const auto known = files_.find(target.string());
    if (known != files_.end()) return &known->second;
    auto content = content_of(target);
    if (!content) return nullptr;
    const bool once = is_once(*content);
    Guard guard = guard_of(*content);
    File file{target.string(), std::move(*content), once, std::move(guard), files_.size(), {}};
    return &files_.emplace(target.string(), std::move(file)).first->second;
  }

  void insert(const fs::path& path, const File& file, bool imported) {
    // A file that includes itself needs a guard, so that its second text would be empty.
    if (std::ranges::find(stack_, file.identity) != stack_.end()) return;
    const bool once = imported || file.once;
    if (once || !file.guard.macro.empty()) {
      // If the same branch has included the text before, its guard is defined.
      std::vector<std::size_t>& branches = files_.at(file.identity).inserted_in;
      const auto is_open = [&](std::size_t branch) { return branches_.is_open(branch); };
      if (std::ranges::any_of(branches, is_open)) return;
      branches.push_back(branches_.innermost());
    }
    stack_.push_back(file.identity);
    const std::string guard = "METALBENCH_INCLUDED_" + std::to_string(file.number);
    if (once) text_ += "#ifndef " + guard + "\n#define " + guard + "\n";
    expand(file.content, path.string(), path.parent_path(), file.guard);
    if (once) text_ += "#endif\n";
    stack_.pop_back();
  }

  static bool is_once(const Directive& directive) {
    return directive.name == "pragma" && directive.rest == "once";
  }

  static bool is_once(const std::string& content) {
    Comments comments;
    for (std::size_t begin = 0; begin < content.size();) {
      const std::size_t end = std::min(content.find('\n', begin), content.size());
      const auto directive =
          directive_of(comments.strip(std::string_view(content.data() + begin, end - begin)));
      if (directive && is_once(*directive)) return true;
      begin = end + 1;
    }
    return false;
  }

  std::vector<fs::path> folders_;
  std::vector<fs::path> readable_;  // folders with links resolved
  std::vector<std::string> stack_;
  std::map<std::string, File> files_;
  Branches branches_;
  std::size_t inclusions_ = 0;
  std::string text_;
};

}  // namespace

std::string with_includes(const std::string& source, const std::string& filename,
                          const std::vector<std::string>& include_dirs) {
  const fs::path folder = fs::path(filename).parent_path();
  Expander expander(folder, include_dirs);
  expander.expand(source, filename, folder);
  return expander.take();
}

std::string without_lines(const std::string& text) {
  std::string kept;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    if (!line.starts_with("#line ")) kept.append(line).append("\n");
    begin = end + 1;
  }
  return kept;
}

}  // namespace metalbench
