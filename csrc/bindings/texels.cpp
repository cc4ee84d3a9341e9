// Textures in memory that somebody else has allocated, and what texels of a format are made of.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>
#include <utility>

#include "bindings/bindings.h"

namespace metalbench::bindings {
namespace {

using Extents = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

// One level, dense.
Texture texture_in(const Buffer& buffer, const std::string& format, const Extents& extents,
                   const std::string& kind) {
  TextureDescriptor descriptor{texture_type(kind), pixel_format(format), {}};
  TextureLevel level;
  std::tie(level.width, level.height, level.slices) = extents;
  level.row_bytes = std::size_t{level.width} * descriptor.format.bytes();
  level.slice_bytes = level.height * level.row_bytes;
  descriptor.levels.push_back(level);
  return {buffer, std::move(descriptor)};
}

nb::tuple texel_type(const std::string& name) {
  const PixelFormat format = pixel_format(name);
  return nb::make_tuple(dtype_of(format.channel), format.channels);
}

}  // namespace

void define_texels(nb::module_& module) {
  module.def("texture_in", &texture_in, nb::arg("buffer"), nb::arg("format"), nb::arg("extents"),
             nb::kw_only(), nb::arg("kind") = "2d",
             "A texture over a buffer's memory, of one level, dense; `extents` are width, height "
             "and\nslices. Raises DispatchError where the buffer is too small.");
  module.def("texel_type", &texel_type, nb::arg("format"),
             nb::sig("def texel_type(format: str) -> tuple[str, int]"),
             "NumPy's name of what texels of a format are made of, and how many of these one has: "
             "uint8\nand 4 of `rgba8unorm`, uint32 and 1 of `rgb10a2unorm`. Raises DispatchError.");
}

}  // namespace metalbench::bindings
