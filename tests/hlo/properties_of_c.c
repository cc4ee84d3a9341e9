/* Levels, statistics, timing and serialised programs of metalbench/hlo.h, used rightly and wrongly.
 */
#include <metalbench/hlo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                              \
  if (!(what)) {                                                 \
    fprintf(stderr, "line %d: not true: %s\n", __LINE__, #what); \
    exit(1);                                                     \
  }

static const char code[] =
    "module @sums {\n"
    "func.func @main(%a: tensor<4x6xf32> {jax.buffer_donor = true}, %b: tensor<f32>)"
    " -> (tensor<4xf32>, tensor<4x6xf32>) {\n"
    "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %w = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<4x6xf32>\n"
    "  %p = stablehlo.multiply %a, %w : tensor<4x6xf32>\n"
    "  %e = stablehlo.exponential %p : tensor<4x6xf32>\n"
    "  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1]"
    " : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>\n"
    "  return %s, %p : tensor<4xf32>, tensor<4x6xf32>\n}\n}";

static void fine(mb_hlo_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", mb_hlo_error_message(error));
  exit(1);
}

static void refused(mb_hlo_error* error, mb_hlo_code expected, const char* part) {
  CHECK(error != NULL);
  if (mb_hlo_error_code(error) != expected || strstr(mb_hlo_error_message(error), part) == NULL) {
    fprintf(stderr, "expected %d, %s; got %d, %s\n", expected, part, mb_hlo_error_code(error),
            mb_hlo_error_message(error));
    exit(1);
  }
  mb_hlo_error_destroy(error);
}

/* exp(0) in each of six columns. */
static void check_results(mb_hlo_executable* program, mb_hlo_buffer* const* given) {
  mb_hlo_buffer* results[2];
  float sums[4];
  fine(mb_hlo_execute(program, given, 2, results, 2));
  fine(mb_hlo_buffer_read(results[0], sums, sizeof(sums)));
  for (int row = 0; row < 4; ++row) CHECK(sums[row] == 6);
  for (int each = 0; each < 2; ++each) mb_hlo_buffer_destroy(results[each]);
}

static void check_types(mb_hlo_executable* program) {
  mb_hlo_type type;
  const int64_t* sizes;
  size_t rank;
  const char* name;
  fine(mb_hlo_executable_name(program, &name));
  CHECK(strcmp(name, "sums") == 0);
  fine(mb_hlo_executable_result_type(program, 1, &type));
  CHECK(type == MB_HLO_F32);
  fine(mb_hlo_executable_result_shape(program, 0, &sizes, &rank));
  CHECK(rank == 1 && sizes[0] == 4);
  fine(mb_hlo_executable_result_shape(program, 1, &sizes, &rank));
  CHECK(rank == 2 && sizes[0] == 4 && sizes[1] == 6);
  refused(mb_hlo_executable_result_type(program, 2, &type), MB_HLO_INVALID_ARGUMENT, "less than 2");
  refused(mb_hlo_executable_result_shape(program, 2, &sizes, &rank), MB_HLO_INVALID_ARGUMENT,
          "less than 2");
  refused(mb_hlo_executable_result_shape(program, 0, NULL, &rank), MB_HLO_INVALID_ARGUMENT, "null");
  refused(mb_hlo_executable_name(NULL, &name), MB_HLO_INVALID_ARGUMENT, "executable");
}

static void check_statistics(mb_hlo_executable* program) {
  mb_hlo_statistics found;
  fine(mb_hlo_executable_statistics(program, &found));
  CHECK(found.argument_bytes == 4 * 24 + 4 && found.result_bytes == 4 * 4 + 4 * 24);
  CHECK(found.transcendentals == 24 && found.flops >= 24 + 20);
  CHECK(found.accessed_bytes >= found.argument_bytes + found.result_bytes);
  CHECK(found.code_bytes > 0 && found.temporary_bytes >= 0 && found.peak_bytes >= 4 * 24);
  refused(mb_hlo_executable_statistics(program, NULL), MB_HLO_INVALID_ARGUMENT, "null");
}

static void check_times(mb_hlo_executable* program, mb_hlo_buffer* const* given) {
  mb_hlo_timing found;
  fine(mb_hlo_time(program, given, 2, 5, &found));
  CHECK(found.runs == 5 && found.shortest_s > 0);
  CHECK(found.shortest_s <= found.median_s && found.shortest_s <= found.mean_s);
  refused(mb_hlo_time(program, given, 2, 0, &found), MB_HLO_INVALID_ARGUMENT, "at least 1");
  refused(mb_hlo_time(program, given, 1, 1, &found), MB_HLO_INVALID_ARGUMENT, "2 arguments");
}

static void check_memory(mb_hlo_client* client) {
  mb_hlo_memory before, after;
  mb_hlo_buffer* held;
  const int64_t sizes[] = {1 << 18};
  float* zeros = calloc(1 << 18, sizeof(float));
  fine(mb_hlo_client_memory(client, &before));
  fine(mb_hlo_buffer_create(client, MB_HLO_F32, sizes, 1, zeros, &held));
  fine(mb_hlo_client_memory(client, &after));
  CHECK(after.used_bytes >= before.used_bytes + (1 << 20) && after.peak_bytes >= after.used_bytes);
  mb_hlo_buffer_destroy(held);
  fine(mb_hlo_client_memory(client, &after));
  CHECK(after.used_bytes <= before.used_bytes && after.free_bytes >= 0);
  free(zeros);
}

int main(void) {
  mb_hlo_client* client;
  mb_hlo_executable *program, *loaded, *plain;
  mb_hlo_buffer *given[2], *copied[2];
  const int64_t sizes[] = {4, 6};
  const float zeros[24] = {0}, factor = 3;
  const char* platform;
  char* bytes;
  size_t size;
  CHECK(mb_hlo_api_version() == 2);
  fine(mb_hlo_client_create("cpu", &client));
  fine(mb_hlo_client_platform(client, &platform));
  CHECK(strcmp(platform, "metalbench, cpu") == 0);
  check_memory(client);
  fine(mb_hlo_compile(client, code, strlen(code), &program));
  fine(mb_hlo_compile_at_level(client, code, strlen(code), 0, &plain));
  refused(mb_hlo_compile_at_level(client, code, strlen(code), 7, &loaded), MB_HLO_INVALID_ARGUMENT,
          "got 7");
  check_types(program);
  check_statistics(program);
  {
    /* Without fusion there are more kernels, with more accesses. */
    mb_hlo_statistics fused, separate;
    fine(mb_hlo_executable_statistics(program, &fused));
    fine(mb_hlo_executable_statistics(plain, &separate));
    CHECK(separate.accessed_bytes > fused.accessed_bytes);
  }
  fine(mb_hlo_buffer_create(client, MB_HLO_F32, sizes, 2, zeros, &given[0]));
  fine(mb_hlo_buffer_create(client, MB_HLO_F32, NULL, 0, &factor, &given[1]));
  check_times(program, given);
  fine(mb_hlo_executable_serialize(program, &bytes, &size));
  fine(mb_hlo_executable_load(client, bytes, size, &loaded));
  refused(mb_hlo_executable_load(client, "no program", 10, &plain), MB_HLO_INVALID_ARGUMENT,
          "serialised");
  mb_hlo_bytes_destroy(bytes);
  mb_hlo_bytes_destroy(NULL);
  for (int each = 0; each < 3; ++each) {
    /* The program donates its first argument; the copy keeps the elements. */
    fine(mb_hlo_buffer_copy(given[0], &copied[0]));
    copied[1] = given[1];
    check_results(each == 0 ? program : each == 1 ? loaded : plain, copied);
    refused(mb_hlo_buffer_copy(copied[0], &copied[1]), MB_HLO_INVALID_ARGUMENT, "donated");
    mb_hlo_buffer_destroy(copied[0]);
  }
  for (int each = 0; each < 2; ++each) mb_hlo_buffer_destroy(given[each]);
  mb_hlo_executable_destroy(program);
  mb_hlo_executable_destroy(loaded);
  mb_hlo_executable_destroy(plain);
  mb_hlo_client_destroy(client);
  puts("done");
  return 0;
}
