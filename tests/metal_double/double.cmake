# What `_core` needs to have the double's Metal, Foundation and Objective-C runtime inside.
set(double_sources
  foundation/array.mm
  foundation/data.mm
  foundation/dictionary.mm
  foundation/empty_literals.mm
  foundation/encodings.mm
  foundation/error.mm
  foundation/names.mm
  foundation/number.mm
  foundation/page_size.cpp
  foundation/process_info.mm
  foundation/qos.cpp
  foundation/registry.mm
  foundation/string.mm
  foundation/url.mm
  metal/addresses.mm
  metal/archive.mm
  metal/buffer.mm
  metal/call_cost.mm
  metal/capture.mm
  metal/command_buffer.mm
  metal/compile_options.mm
  metal/control.cpp
  metal/counters.mm
  metal/data_types.mm
  metal/descriptors.mm
  metal/device.mm
  metal/domains.mm
  metal/driver_errors.mm
  metal/encoder.mm
  metal/engine.cpp
  metal/execute.mm
  metal/fence.mm
  metal/function_constants.mm
  metal/library.mm
  metal/metal4.mm
  metal/mlx.mm
  metal/pipeline.mm
  metal/pixel_formats.mm
  metal/queue.mm
  metal/reflection.mm
  metal/replay.mm
  metal/residency.mm
  metal/resource_ids.mm
  metal/sampler.mm
  metal/slots.mm
  metal/tensor.mm
  metal/texture.mm
  metal/timeline.mm
  runtime/autorelease.cpp
  runtime/block_methods.cpp
  runtime/blocks.cpp
  runtime/classes.cpp
  runtime/dispatch_table.cpp
  runtime/image.cpp
  runtime/methods.cpp
  runtime/objects.cpp
  runtime/properties.cpp
  runtime/root_mrc.mm
  runtime/selectors.cpp
  runtime/send_aarch64.cpp
  runtime/send_x86_64.cpp
  runtime/weak.cpp)

list(TRANSFORM double_sources PREPEND tests/metal_double/)
target_sources(_core PRIVATE ${double_sources})
target_include_directories(_core PRIVATE tests/metal_double/include tests/metal_double)
target_compile_options(_core PRIVATE
  $<$<COMPILE_LANGUAGE:OBJCXX>:-fobjc-runtime=macosx-14.0>
  $<$<COMPILE_LANGUAGE:OBJCXX>:-fblocks>)
foreach(source IN LISTS double_sources)
  if(source MATCHES "_mrc\\.mm$")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -fno-objc-arc)
  endif()
endforeach()
# The runtime finds classes by the ends of their sections, which no relocation mentions. Among the
# libraries, because the last word counts and nanobind's options ask for the opposite.
target_link_libraries(_core PRIVATE -Wl,--no-gc-sections)

option(METALBENCH_METAL_COVERAGE "Note which lines of csrc/metal run, for line_coverage.py" OFF)
if(METALBENCH_METAL_COVERAGE)
  target_sources(_core PRIVATE tests/metal_double/line_coverage.cpp)
  set_source_files_properties(${metal_sources} PROPERTIES COMPILE_OPTIONS
    "-O0;-g;-fno-sanitize=undefined;-fsanitize-coverage=bb,trace-pc-guard,pc-table;-mllvm;-sanitizer-coverage-prune-blocks=0")
endif()
