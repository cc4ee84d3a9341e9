#include "core/includes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

namespace metalbench {
namespace {

namespace fs = std::filesystem;

// Tells code from comments, over the lines of one file.
class Comments {
 public:
  // The line without its comments.
  std::string strip(std::string_view line) {
    std::string code;
    for (std::size_t i = 0; i < line.size();) i = step(line, i, code);
    // A backslash continues a comment of one line, too.
    line_comment_ = line_comment_ && line.ends_with('\\');
    quote_ = 0;
    return code;
  }

  [[nodiscard]] bool open() const { return block_comment_; }

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
      quote_ = c;  // else it separates digits
    }
  }

  static bool is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
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

std::optional<std::string> content_of(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string marker(std::size_t line, const std::string& filename) {
  std::string text = "#line " + std::to_string(line) + " \"";
  for (const char c : filename) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"\n";
}

class Expander {
 public:
  explicit Expander(const std::vector<std::string>& include_dirs)
      : folders_(include_dirs.begin(), include_dirs.end()) {}

  void expand(const std::string& source, const std::string& filename, const fs::path& folder) {
    text_ += marker(1, filename);
    Comments comments;
    bool moved = false;  // whether lines are no longer where they were
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < source.size();) {
      const std::size_t end = std::min(source.find('\n', begin), source.size());
      const std::string_view line(source.data() + begin, end - begin);
      begin = end + 1;
      ++number;
      const bool starts_in_comment = comments.open();
      const auto directive = directive_of(comments.strip(line));
      if (directive && !starts_in_comment && include(*directive, folder)) {
        moved = true;
        text_ += marker(number + 1, filename);
        if (comments.open()) text_ += "/*";
        continue;
      }
      // Of a main file, which everything is now, the compiler would warn.
      if (!directive || !is_once(*directive)) text_ += line;
      text_ += '\n';
      // A marker among skipped lines is skipped as well.
      if (moved && directive && ends_branch(*directive)) text_ += marker(number + 1, filename);
    }
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  static bool ends_branch(const Directive& directive) {
    return directive.name == "endif" || directive.name.starts_with("el");
  }

  // Whether the directive was an include that is now in the text.
  bool include(const Directive& directive, const fs::path& folder) {
    const auto wanted = include_of(directive);
    if (!wanted) return false;
    for (const fs::path& path : candidates(*wanted, folder)) {
      const auto content = content_of(path);
      if (!content) continue;
      insert(path, *content, directive.name == "import");
      return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<fs::path> candidates(const Include& wanted,
                                                 const fs::path& folder) const {
    if (fs::path(wanted.name).is_absolute()) return {wanted.name};
    std::vector<fs::path> paths;
    if (wanted.quoted) paths.push_back(folder / wanted.name);
    for (const fs::path& other : folders_) paths.push_back(other / wanted.name);
    return paths;
  }

  void insert(const fs::path& path, const std::string& content, bool imported) {
    std::error_code failure;
    const fs::path resolved = fs::weakly_canonical(path, failure);
    const std::string identity = failure ? path.string() : resolved.string();
    // Only a guard of its own keeps a file that includes itself finite, and then this is empty.
    if (std::ranges::find(stack_, identity) != stack_.end()) return;
    stack_.push_back(identity);
    if (imported || is_once(content)) {
      const auto [found, is_new] = guards_.try_emplace(identity, guards_.size());
      const std::string guard = "METALBENCH_INCLUDED_" + std::to_string(found->second);
      text_ += "#ifndef " + guard + "\n#define " + guard + "\n";
      expand(content, path.string(), path.parent_path());
      text_ += "#endif\n";
    } else {
      expand(content, path.string(), path.parent_path());
    }
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
  std::vector<std::string> stack_;
  std::map<std::string, std::size_t> guards_;
  std::string text_;
};

}  // namespace

std::string with_includes(const std::string& source, const std::string& filename,
                          const std::vector<std::string>& include_dirs) {
  Expander expander(include_dirs);
  expander.expand(source, filename, fs::path(filename).parent_path());
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
