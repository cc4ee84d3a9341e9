/* StableHLO programs on metalbench's devices, from C.
 *
 * Link with metalbench_hlo; `python -m metalbench.hlo.plugin.flags` prints how. The compiler is
 * written in Python, which the first client starts inside this process: the interpreter that
 * METALBENCH_PYTHON names, else the one of the environment that the library is installed in. If
 * this process runs Python already, it is that.
 *
 * Functions return null, or an error, which the caller destroys; what they were to give is not
 * written then. Null pointers are errors, too. Functions may be called from any thread.
 */
#ifndef METALBENCH_HLO_H
#define METALBENCH_HLO_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define METALBENCH_HLO_API __attribute__((visibility("default")))
#else
#define METALBENCH_HLO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mb_hlo_error mb_hlo_error;
typedef struct mb_hlo_client mb_hlo_client;
typedef struct mb_hlo_executable mb_hlo_executable;
typedef struct mb_hlo_buffer mb_hlo_buffer;

/* The numbers are absl::StatusCode's. */
typedef enum mb_hlo_code {
  MB_HLO_CANCELLED = 1,
  MB_HLO_INVALID_ARGUMENT = 3,
  MB_HLO_DEADLINE_EXCEEDED = 4,
  MB_HLO_NOT_FOUND = 5,
  MB_HLO_RESOURCE_EXHAUSTED = 8,
  MB_HLO_FAILED_PRECONDITION = 9,
  MB_HLO_UNIMPLEMENTED = 12,
  MB_HLO_INTERNAL = 13
} mb_hlo_code;

/* Element types; the numbers are PJRT's. Two and four bits take a byte an element. */
typedef enum mb_hlo_type {
  MB_HLO_I1 = 1,
  MB_HLO_I8 = 2,
  MB_HLO_I16 = 3,
  MB_HLO_I32 = 4,
  MB_HLO_I64 = 5,
  MB_HLO_UI8 = 6,
  MB_HLO_UI16 = 7,
  MB_HLO_UI32 = 8,
  MB_HLO_UI64 = 9,
  MB_HLO_F16 = 10,
  MB_HLO_F32 = 11,
  /* Not on "metal". */
  MB_HLO_F64 = 12,
  MB_HLO_BF16 = 13,
  /* Two floats, the real part first. */
  MB_HLO_COMPLEX_F32 = 14,
  /* Two doubles, the real part first. Not on "metal". */
  MB_HLO_COMPLEX_F64 = 15,
  MB_HLO_F8_E5M2 = 16,
  MB_HLO_F8_E4M3FN = 17,
  MB_HLO_I4 = 21,
  MB_HLO_UI4 = 22,
  MB_HLO_I2 = 24,
  MB_HLO_UI2 = 25
} mb_hlo_type;

/* Bytes of a device's memory. `free` is memory that later buffers will use again. */
typedef struct mb_hlo_memory {
  int64_t used_bytes;
  int64_t peak_bytes;
  int64_t free_bytes;
} mb_hlo_memory;

/* What a program needs. `peak_bytes` are those of live buffers; `flops` counts operations on
 * elements, `transcendentals` roots, exponentials and the like. A loop whose number of iterations
 * is not known counts once. */
typedef struct mb_hlo_statistics {
  int64_t code_bytes;
  int64_t argument_bytes;
  int64_t result_bytes;
  int64_t temporary_bytes;
  int64_t peak_bytes;
  int64_t flops;
  int64_t transcendentals;
  int64_t accessed_bytes;
} mb_hlo_statistics;

/* Times of runs, in seconds of the host's clock. */
typedef struct mb_hlo_timing {
  size_t runs;
  double shortest_s;
  double median_s;
  double mean_s;
} mb_hlo_timing;

/* The version of these functions. Later versions only add functions. */
METALBENCH_HLO_API int mb_hlo_api_version(void);

METALBENCH_HLO_API mb_hlo_code mb_hlo_error_code(const mb_hlo_error* error);
/* Names the operation and its place, if it is about one; valid as long as the error. */
METALBENCH_HLO_API const char* mb_hlo_error_message(const mb_hlo_error* error);
METALBENCH_HLO_API void mb_hlo_error_destroy(mb_hlo_error* error);

/* A device: "auto", "cpu", "metal" or "cuda". */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_client_create(const char* device, mb_hlo_client** client);
/* Buffers and executables keep what they need of it. */
METALBENCH_HLO_API void mb_hlo_client_destroy(mb_hlo_client* client);
/* What the device calls itself; valid as long as the client. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_client_device(mb_hlo_client* client, const char** name);
/* "metalbench, cpu" and the like; valid as long as the client. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_client_platform(mb_hlo_client* client, const char** name);
METALBENCH_HLO_API mb_hlo_error* mb_hlo_client_memory(mb_hlo_client* client, mb_hlo_memory* memory);

/* `code` is StableHLO: text, MLIR bytecode or a portable artifact, of `size` bytes. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_compile(mb_hlo_client* client, const char* code,
                                                size_t size, mb_hlo_executable** executable);
/* The same at an optimisation level: 0 is one kernel for each operation, 2 fuses operations, 3 also
 * fuses operations on rows. mb_hlo_compile takes that of METALBENCH_HLO_LEVEL, by default 3. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_compile_at_level(mb_hlo_client* client, const char* code,
                                                         size_t size, int level,
                                                         mb_hlo_executable** executable);
METALBENCH_HLO_API void mb_hlo_executable_destroy(mb_hlo_executable* executable);
/* The name of the module; valid as long as the executable. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_executable_name(mb_hlo_executable* executable,
                                                        const char** name);
METALBENCH_HLO_API mb_hlo_error* mb_hlo_executable_results(mb_hlo_executable* executable,
                                                           size_t* count);
METALBENCH_HLO_API mb_hlo_error* mb_hlo_executable_result_type(mb_hlo_executable* executable,
                                                               size_t number, mb_hlo_type* type);
/* `sizes` is valid as long as the executable. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_executable_result_shape(mb_hlo_executable* executable,
                                                                size_t number,
                                                                const int64_t** sizes,
                                                                size_t* rank);
METALBENCH_HLO_API mb_hlo_error* mb_hlo_executable_statistics(mb_hlo_executable* executable,
                                                              mb_hlo_statistics* statistics);
/* The program as bytes, which mb_hlo_executable_load takes on any machine with the same version of
 * metalbench. mb_hlo_bytes_destroy releases them. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_executable_serialize(mb_hlo_executable* executable,
                                                             char** bytes, size_t* size);
METALBENCH_HLO_API void mb_hlo_bytes_destroy(char* bytes);
METALBENCH_HLO_API mb_hlo_error* mb_hlo_executable_load(mb_hlo_client* client, const char* bytes,
                                                        size_t size,
                                                        mb_hlo_executable** executable);
/* Run it; returns when it is done. `results` has room for `result_count` buffers, as many as the
 * program has results; the caller destroys them. Arguments that the program donates are gone. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_execute(mb_hlo_executable* executable,
                                                mb_hlo_buffer* const* arguments,
                                                size_t argument_count, mb_hlo_buffer** results,
                                                size_t result_count);
/* Run it once, and then `runs` times with a clock. Arguments stay, those of donations too. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_time(mb_hlo_executable* executable,
                                             mb_hlo_buffer* const* arguments, size_t argument_count,
                                             size_t runs, mb_hlo_timing* timing);

/* A copy of row-major elements on the device; `sizes` has `rank` numbers. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_buffer_create(mb_hlo_client* client, mb_hlo_type type,
                                                      const int64_t* sizes, size_t rank,
                                                      const void* elements, mb_hlo_buffer** buffer);
/* Another handle of the same elements, which stays if this one is donated or destroyed. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_buffer_copy(mb_hlo_buffer* buffer, mb_hlo_buffer** copy);
METALBENCH_HLO_API void mb_hlo_buffer_destroy(mb_hlo_buffer* buffer);
METALBENCH_HLO_API mb_hlo_error* mb_hlo_buffer_type(mb_hlo_buffer* buffer, mb_hlo_type* type);
/* `sizes` is valid as long as the buffer. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_buffer_shape(mb_hlo_buffer* buffer, const int64_t** sizes,
                                                     size_t* rank);
METALBENCH_HLO_API mb_hlo_error* mb_hlo_buffer_bytes(mb_hlo_buffer* buffer, size_t* bytes);
/* Copy the elements, row-major; `bytes` is the room there is at `elements`. */
METALBENCH_HLO_API mb_hlo_error* mb_hlo_buffer_read(mb_hlo_buffer* buffer, void* elements,
                                                    size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
