# What `_core` needs to have the double's Metal, Foundation and Objective-C runtime inside.
# BEGIN while sources are being written
file(GLOB double_sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_LIST_DIR}"
  "${CMAKE_CURRENT_LIST_DIR}/runtime/*.mm" "${CMAKE_CURRENT_LIST_DIR}/runtime/*.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/foundation/*.mm" "${CMAKE_CURRENT_LIST_DIR}/foundation/*.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/metal/*.mm" "${CMAKE_CURRENT_LIST_DIR}/metal/*.cpp")
# END while sources are being written

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
