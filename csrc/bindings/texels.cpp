// Textures in memory of the caller, and stored types of formats.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>
#include <utility>

#include "bindings/bindings.h"

namespace metalbench::bindings {
namespace {

using Extents = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

// One dense level.
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
             "Make a texture on a buffer's memory, with one dense level; `extents` are width,\n"
             "height and slices. Raise DispatchError if the buffer is too small.");
  module.def("texel_type", &texel_type, nb::arg("format"),
             nb::sig("def texel_type(format: str) -> tuple[str, int]"),
             "Return NumPy's name of a format's stored type, and the number of such values in a\n"
             "texel: uint8 and 4 for `rgba8unorm`, uint32 and 1 for `rgb10a2unorm`. Raise\n"
             "DispatchError.");
}

}  // namespace metalbench::bindings
