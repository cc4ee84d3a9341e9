// The tests of the double's runtime and Foundation, and what they tell of failures.
#pragma once

#include <cstdio>

namespace runtime_test {

inline int failures = 0;

inline void check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  std::printf("%s:%d: %s\n", file, line, what);
  ++failures;
}

#define CHECK(what) runtime_test::check((what), #what, __FILE__, __LINE__)

void test_messages();
void test_nil();
void test_errors();
void test_weak();
void test_threads();
void test_strings();
void test_collections();
void test_blocks();
void test_methods_that_are_told();
void test_methods_that_are_replaced();
void test_methods_that_are_added();
void test_blocks_as_methods();
void test_replacement_while_others_send();
void report_cost();

}  // namespace runtime_test
