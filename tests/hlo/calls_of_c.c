/* metalbench/hlo.h as a program in C uses it, rightly and wrongly. */
#include <metalbench/hlo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                               \
  if (!(what)) {                                                  \
    fprintf(stderr, "line %d: not true: %s\n", __LINE__, #what);  \
    exit(1);                                                      \
  }

static const char double_it[] =
    "func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>)"
    " -> (tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xf32>) {\n"
    "  %0 = stablehlo.add %a, %b : tensor<2x3xf32>\n"
    "  %1 = stablehlo.compare GT, %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>\n"
    "  return %0, %1, %a : tensor<2x3xf32>, tensor<2x3xi1>, tensor<2x3xf32>\n}";
static const char unknown[] =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.custom_call @unknown_target(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n}";

static void fine(mb_hlo_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", mb_hlo_error_message(error));
  exit(1);
}

static void refused(mb_hlo_error* error, mb_hlo_code code, const char* part) {
  CHECK(error != NULL);
  if (mb_hlo_error_code(error) != code || strstr(mb_hlo_error_message(error), part) == NULL) {
    fprintf(stderr, "expected %d, %s; got %d, %s\n", code, part, mb_hlo_error_code(error),
            mb_hlo_error_message(error));
    exit(1);
  }
  mb_hlo_error_destroy(error);
}

static void refusals(mb_hlo_client* client, mb_hlo_executable* program, mb_hlo_buffer* buffer) {
  mb_hlo_client* other = NULL;
  mb_hlo_executable* made = NULL;
  mb_hlo_buffer *results[3] = {NULL, NULL, NULL}, *given[2] = {buffer, NULL};
  const int64_t sizes[] = {4}, negative[] = {-1};
  float elements[4] = {0};
  refused(mb_hlo_client_create("toaster", &other), MB_HLO_INVALID_ARGUMENT, "toaster");
  refused(mb_hlo_client_create(NULL, &other), MB_HLO_INVALID_ARGUMENT, "null");
  refused(mb_hlo_client_create("cpu", NULL), MB_HLO_INVALID_ARGUMENT, "null");
  refused(mb_hlo_compile(client, "no program", 10, &made), MB_HLO_INVALID_ARGUMENT, "program");
  refused(mb_hlo_compile(client, unknown, strlen(unknown), &made), MB_HLO_UNIMPLEMENTED,
          "custom_call");
  refused(mb_hlo_compile(NULL, double_it, strlen(double_it), &made), MB_HLO_INVALID_ARGUMENT,
          "client");
  refused(mb_hlo_execute(program, given, 2, results, 3), MB_HLO_INVALID_ARGUMENT, "buffer");
  refused(mb_hlo_execute(program, given, 1, results, 3), MB_HLO_INVALID_ARGUMENT, "2 arguments");
  refused(mb_hlo_execute(program, given, 1, results, 2), MB_HLO_INVALID_ARGUMENT, "result_count");
  refused(mb_hlo_execute(program, NULL, 2, results, 3), MB_HLO_INVALID_ARGUMENT, "arguments");
  CHECK(results[0] == NULL);
  refused(mb_hlo_buffer_create(client, MB_HLO_F32, negative, 1, elements, results),
          MB_HLO_INVALID_ARGUMENT, "dims");
  refused(mb_hlo_buffer_create(client, MB_HLO_F32, sizes, 1, NULL, results),
          MB_HLO_INVALID_ARGUMENT, "null");
  refused(mb_hlo_buffer_create(client, (mb_hlo_type)99, sizes, 1, elements, results),
          MB_HLO_UNIMPLEMENTED, "99");
  refused(mb_hlo_buffer_read(buffer, elements, 4), MB_HLO_INVALID_ARGUMENT, "at least 24");
  refused(mb_hlo_buffer_read(buffer, NULL, 24), MB_HLO_INVALID_ARGUMENT, "null");
  refused(mb_hlo_buffer_read(NULL, elements, 4), MB_HLO_INVALID_ARGUMENT, "null");
}

int main(void) {
  mb_hlo_client* client;
  mb_hlo_executable* program;
  mb_hlo_buffer *given[2], *results[3];
  const int64_t sizes[] = {2, 3}, *shape;
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {6, 5, 4, 3, 2, 1};
  const char* device;
  mb_hlo_type type;
  size_t count, rank, bytes;
  float sums[6];
  unsigned char greater[6];
  fine(mb_hlo_client_create("cpu", &client));
  fine(mb_hlo_client_device(client, &device));
  CHECK(strstr(device, "cpu") != NULL);
  fine(mb_hlo_compile(client, double_it, strlen(double_it), &program));
  fine(mb_hlo_executable_results(program, &count));
  CHECK(count == 3);
  fine(mb_hlo_buffer_create(client, MB_HLO_F32, sizes, 2, a, &given[0]));
  fine(mb_hlo_buffer_create(client, MB_HLO_F32, sizes, 2, b, &given[1]));
  refusals(client, program, given[0]);
  fine(mb_hlo_execute(program, given, 2, results, 3));
  /* What it needs of the client is kept. */
  mb_hlo_client_destroy(client);
  fine(mb_hlo_buffer_type(results[1], &type));
  fine(mb_hlo_buffer_bytes(results[0], &bytes));
  fine(mb_hlo_buffer_shape(results[0], &shape, &rank));
  CHECK(type == MB_HLO_I1 && bytes == sizeof(sums));
  CHECK(rank == 2 && shape[0] == 2 && shape[1] == 3);
  fine(mb_hlo_buffer_read(results[0], sums, sizeof(sums)));
  fine(mb_hlo_buffer_read(results[1], greater, sizeof(greater)));
  for (int number = 0; number < 6; ++number) {
    CHECK(sums[number] == 7);
    CHECK(greater[number] == (a[number] > b[number]));
  }
  for (int number = 0; number < 2; ++number) mb_hlo_buffer_destroy(given[number]);
  fine(mb_hlo_buffer_read(results[2], sums, sizeof(sums)));
  CHECK(memcmp(sums, a, sizeof(a)) == 0);
  for (int number = 0; number < 3; ++number) mb_hlo_buffer_destroy(results[number]);
  mb_hlo_executable_destroy(program);
  mb_hlo_executable_destroy(NULL);
  mb_hlo_buffer_destroy(NULL);
  mb_hlo_client_destroy(NULL);
  mb_hlo_error_destroy(NULL);
  puts("done");
  return 0;
}
