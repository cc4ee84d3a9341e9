// A message of a kernel: one line on standard error.
#pragma once

#include "object_file.h"

namespace mb {

// Symbols with reserved names, because kernels must not call the host's functions.
extern "C" int mb_log_format(char* text, unsigned long size, const char* format, ...) __asm(
    MB_SYMBOL(snprintf));
extern "C" long mb_log_write(int file, const void* text, unsigned long size) __asm(
    MB_SYMBOL(write));

// Formatting of messages with vectors, which snprintf does not support: `%.2v4hlf` is `%.2f` for
// each of four components.
struct LogLine {
  static constexpr int room = 1024;
  char text[room];
  int size = 0;
  const char* format;
  char conversion[32];  // for one component, in snprintf's syntax

  MB_UNTRACED void put(char c) {
    if (size < room - 1) text[size++] = c;
  }
  // Write the format up to its next conversion; return whether one follows.
  [[gnu::noinline]] MB_UNTRACED bool next() {
    for (; *format; put(*format++)) {
      if (format[0] == '%' && format[1] != '%') break;
      if (format[0] == '%') ++format;
    }
    if (!*format) return false;
    int length = 0;
    bool vector = false;
    conversion[length++] = *format++;
    for (bool done = false; *format && !done && length < 30; ++format) {
      const char c = *format;
      const bool sizes = c == 'h' || c == 'l' || c == 'z' || c == 'j' || c == 't';
      done = !sizes && c != 'v' && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
      if (c == 'v') {
        vector = true;
        while (format[1] >= '0' && format[1] <= '9') ++format;
      } else if (vector && c == 'h') {
        // A component is passed as int or double; `hl` means 32 bits.
        if (format[1] == 'l') ++format;
      } else {
        conversion[length++] = c;
      }
    }
    conversion[length] = 0;
    return true;
  }
  template <class T>
  MB_UNTRACED void one(T value) {
    const int more = mb_log_format(text + size, room - size, conversion, value);
    size = more < 0 ? size : size + more < room ? size + more : room - 1;
  }
  template <class T>
  MB_UNTRACED void argument(T value) {
    if (next()) one(printable(value));
  }
  template <class T, int N>
  MB_UNTRACED void argument(metal::vec<T, N> value) {
    if (!next()) return;
    for (int i = 0; i < N; ++i) {
      if (i) put(',');
      one(printable(value[i]));
    }
  }
  template <class T, int N>
  MB_UNTRACED void argument(metal::packed_vec<T, N> value) {
    argument(metal::vec<T, N>(value));
  }
};

// One write per message, so that lines of two threads do not mix.
template <class... A>
[[gnu::noinline]] MB_UNTRACED void log_line(const char* format, A... a) {
  LogLine line;
  if constexpr ((is_several<A> || ...)) {
    line.format = format;
    (line.argument(a), ...);
    line.next();
  } else {
    const int size = mb_log_format(line.text, line.room, format, printable(a)...);
    if (size < 0) return;
    line.size = size < line.room ? size : line.room - 1;
  }
  if (line.size == 0 || line.text[line.size - 1] != '\n') {
    if (line.size == line.room - 1) --line.size;
    line.put('\n');
  }
  mb_log_write(2, line.text, line.size);
}

}  // namespace mb
