// Texture types: a pointer to the runtime's description, and methods by shape.
#pragma once

#include "texture_atomic.h"
#include "texture_handle.h"

namespace metal {

#define MB_TEXTURE_TEMPLATE                    \
  template <class T, access a = access::sample, \
            memory_coherence coherence = memory_coherence_threadgroup>
#define MB_HANDLE(type) mb::TextureHandle<T, a, mb::TextureType::type, false>
#define MB_DEPTH_HANDLE(type) mb::TextureHandle<T, a, mb::TextureType::type, true>

// read() and write(): expressions for x, y and the slice, then the parameters.
#define MB_READ(x, y, z, ...)                                                      \
  MB_FUNC auto read(__VA_ARGS__, uint lod = 0) const MB_IF_READABLE {              \
    return this->mb_read(x, y, z, lod);                                            \
  }
#define MB_WRITE(x, y, z, ...)                                                              \
  MB_FUNC void write(vec<T, 4> value, __VA_ARGS__, uint lod = 0) const MB_IF_WRITABLE {     \
    this->mb_write(value, x, y, z, lod);                                                    \
  }
// The same for ushort coordinates; templates, so that {x, y} means uint2.
#define MB_USHORT template <class S, class = typename mb::enable_if<__is_same(S, ushort)>::type>
#define MB_READ_WRITE(...) MB_READ(__VA_ARGS__) MB_WRITE(__VA_ARGS__)
#define MB_USHORT_READ_WRITE(...) MB_USHORT MB_READ(__VA_ARGS__) MB_USHORT MB_WRITE(__VA_ARGS__)

// sample(): dimensions, whether a cube, the slice, then the parameters; `p` are the coordinates.
#define MB_SAMPLE(D, cube, slice, ...)                                                 \
  template <class... Options>                                                          \
  MB_FUNC auto sample(sampler s, __VA_ARGS__, Options... options) const MB_IF_SAMPLED {  \
    return this->template mb_sample<D, cube>(s, p, slice, mb::SampleOptions(options...)); \
  }
#define MB_GATHER(cube, slice, ...)                                                       \
  MB_FUNC auto gather(sampler s, __VA_ARGS__, component c = component::x) const MB_IF_SAMPLED { \
    return this->template mb_gather<cube>(s, p, slice, mb::SampleOptions(offset), c);     \
  }
#define MB_COMPARE(cube, slice, ...)                                                        \
  template <class... Options>                                                               \
  MB_FUNC T sample_compare(sampler s, __VA_ARGS__, float reference, Options... options) const \
      MB_IF_SAMPLED {                                                                       \
    return this->template mb_compare<cube>(s, p, slice, reference,                          \
                                           mb::SampleOptions(options...));                  \
  }

#define MB_WIDTH MB_SIZE(get_width, width)
#define MB_HEIGHT MB_SIZE(get_height, height)
#define MB_ARRAY_SIZE(divisor)                                        \
  MB_FUNC uint get_array_size() const {                               \
    return mb::size_of_level<&mb::TextureLevel::slices>(this->mb_texture, 0) / divisor; \
  }
#define MB_SIZE(name, member)                                              \
  MB_FUNC uint name(uint lod = 0) const {                                  \
    return mb::size_of_level<&mb::TextureLevel::member>(this->mb_texture, lod); \
  }

#define MB_MULTISAMPLED                                                      \
  MB_FUNC auto read(uint2 p, uint sample) const MB_IF_READABLE {             \
    return this->mb_read(p.x, p.y, sample, 0);                               \
  }                                                                          \
  MB_FUNC auto read(ushort2 p, uint sample) const MB_IF_READABLE {           \
    return this->mb_read(p.x, p.y, sample, 0);                               \
  }                                                                          \
  MB_FUNC uint get_num_samples() const {                                     \
    return mb::size_of_level<&mb::TextureLevel::slices>(this->mb_texture, 0); \
  }                                                                          \
  MB_WIDTH MB_HEIGHT

#define MB_FACE (face < 6 ? face : ~0u)
#define MB_CUBE_SLICE (face < 6 ? face + 6 * layer : ~0u)
#define MB_LAYER this->mb_layer(layer, 1)
#define MB_CUBE_LAYER (this->mb_layer(layer, 6) * 6)
#define MB_OFFSET int2 offset = int2(0)

MB_TEXTURE_TEMPLATE
struct texture1d : MB_HANDLE(texture1d) {
  MB_READ_WRITE(x, 0, 0, uint x)
  MB_SAMPLE(1, false, 0, float p)
  MB_WIDTH
  MB_ATOMIC_METHODS(x, 0, 0, uint x)
};

MB_TEXTURE_TEMPLATE
struct texture1d_array : MB_HANDLE(texture1d_array) {
  MB_READ_WRITE(x, 0, layer, uint x, uint layer)
  MB_SAMPLE(1, false, MB_LAYER, float p, uint layer)
  MB_WIDTH MB_ARRAY_SIZE(1)
  MB_ATOMIC_METHODS(x, 0, layer, uint x, uint layer)
};

template <class T, access a = access::read,
          memory_coherence coherence = memory_coherence_threadgroup>
struct texture_buffer : MB_HANDLE(texture_buffer) {
  MB_READ_WRITE(x, 0, 0, uint x)
  MB_WIDTH
  MB_ATOMIC_METHODS(x, 0, 0, uint x)
};

MB_TEXTURE_TEMPLATE
struct texture2d : MB_HANDLE(texture2d) {
  MB_READ_WRITE(p.x, p.y, 0, uint2 p)
  MB_USHORT_READ_WRITE(p.x, p.y, 0, vec<S, 2> p)
  MB_SAMPLE(2, false, 0, float2 p)
  MB_GATHER(false, 0, float2 p, MB_OFFSET)
  MB_WIDTH MB_HEIGHT
  MB_ATOMIC_METHODS(p.x, p.y, 0, uint2 p)
};

MB_TEXTURE_TEMPLATE
struct texture2d_array : MB_HANDLE(texture2d_array) {
  MB_READ_WRITE(p.x, p.y, layer, uint2 p, uint layer)
  MB_USHORT_READ_WRITE(p.x, p.y, layer, vec<S, 2> p, uint layer)
  MB_SAMPLE(2, false, MB_LAYER, float2 p, uint layer)
  MB_GATHER(false, MB_LAYER, float2 p, uint layer, MB_OFFSET)
  MB_WIDTH MB_HEIGHT MB_ARRAY_SIZE(1)
  MB_ATOMIC_METHODS(p.x, p.y, layer, uint2 p, uint layer)
};

MB_TEXTURE_TEMPLATE
struct texture3d : MB_HANDLE(texture3d) {
  MB_READ_WRITE(p.x, p.y, p.z, uint3 p)
  MB_USHORT_READ_WRITE(p.x, p.y, p.z, vec<S, 3> p)
  MB_SAMPLE(3, false, 0, float3 p)
  MB_WIDTH MB_HEIGHT MB_SIZE(get_depth, slices)
  MB_ATOMIC_METHODS(p.x, p.y, p.z, uint3 p)
};

MB_TEXTURE_TEMPLATE
struct texturecube : MB_HANDLE(texturecube) {
  MB_READ_WRITE(p.x, p.y, MB_FACE, uint2 p, uint face)
  MB_USHORT_READ_WRITE(p.x, p.y, MB_FACE, vec<S, 2> p, uint face)
  MB_SAMPLE(2, true, 0, float3 p)
  MB_FUNC auto gather(sampler s, float3 p, component c = component::x) const MB_IF_SAMPLED {
    return this->template mb_gather<true>(s, p, 0, mb::SampleOptions(), c);
  }
  MB_WIDTH MB_HEIGHT
  MB_ATOMIC_METHODS(p.x, p.y, MB_FACE, uint2 p, uint face)
};

MB_TEXTURE_TEMPLATE
struct texturecube_array : MB_HANDLE(texturecube_array) {
  MB_READ_WRITE(p.x, p.y, MB_CUBE_SLICE, uint2 p, uint face, uint layer)
  MB_USHORT_READ_WRITE(p.x, p.y, MB_CUBE_SLICE, vec<S, 2> p, uint face, uint layer)
  MB_SAMPLE(2, true, MB_CUBE_LAYER, float3 p, uint layer)
  MB_FUNC auto gather(sampler s, float3 p, uint layer, component c = component::x) const
      MB_IF_SAMPLED {
    return this->template mb_gather<true>(s, p, MB_CUBE_LAYER, mb::SampleOptions(), c);
  }
  MB_WIDTH MB_HEIGHT MB_ARRAY_SIZE(6)
  MB_ATOMIC_METHODS(p.x, p.y, MB_CUBE_SLICE, uint2 p, uint face, uint layer)
};

template <class T, access a = access::read>
struct texture2d_ms : MB_HANDLE(texture2d_ms) {
  MB_MULTISAMPLED
};

MB_TEXTURE_TEMPLATE
struct depth2d : MB_DEPTH_HANDLE(texture2d) {
  MB_READ(p.x, p.y, 0, uint2 p)
  MB_USHORT MB_READ(p.x, p.y, 0, vec<S, 2> p)
  MB_SAMPLE(2, false, 0, float2 p)
  MB_COMPARE(false, 0, float2 p)
  MB_FUNC auto gather(sampler s, float2 p, MB_OFFSET) const MB_IF_SAMPLED {
    return this->template mb_gather<false>(s, p, 0, mb::SampleOptions(offset), component::x);
  }
  MB_FUNC auto gather_compare(sampler s, float2 p, float reference, MB_OFFSET) const MB_IF_SAMPLED {
    return this->mb_gather_compare(s, p, 0, reference, mb::SampleOptions(offset));
  }
  MB_WIDTH MB_HEIGHT
};

MB_TEXTURE_TEMPLATE
struct depth2d_array : MB_DEPTH_HANDLE(texture2d_array) {
  MB_READ(p.x, p.y, layer, uint2 p, uint layer)
  MB_USHORT MB_READ(p.x, p.y, layer, vec<S, 2> p, uint layer)
  MB_SAMPLE(2, false, MB_LAYER, float2 p, uint layer)
  MB_COMPARE(false, MB_LAYER, float2 p, uint layer)
  MB_FUNC auto gather(sampler s, float2 p, uint layer, MB_OFFSET) const MB_IF_SAMPLED {
    return this->template mb_gather<false>(s, p, MB_LAYER, mb::SampleOptions(offset),
                                           component::x);
  }
  MB_FUNC auto gather_compare(sampler s, float2 p, uint layer, float reference, MB_OFFSET) const
      MB_IF_SAMPLED {
    return this->mb_gather_compare(s, p, MB_LAYER, reference, mb::SampleOptions(offset));
  }
  MB_WIDTH MB_HEIGHT MB_ARRAY_SIZE(1)
};

MB_TEXTURE_TEMPLATE
struct depthcube : MB_DEPTH_HANDLE(texturecube) {
  MB_READ(p.x, p.y, MB_FACE, uint2 p, uint face)
  MB_USHORT MB_READ(p.x, p.y, MB_FACE, vec<S, 2> p, uint face)
  MB_SAMPLE(2, true, 0, float3 p)
  MB_COMPARE(true, 0, float3 p)
  MB_WIDTH MB_HEIGHT
};

MB_TEXTURE_TEMPLATE
struct depthcube_array : MB_DEPTH_HANDLE(texturecube_array) {
  MB_READ(p.x, p.y, MB_CUBE_SLICE, uint2 p, uint face, uint layer)
  MB_USHORT MB_READ(p.x, p.y, MB_CUBE_SLICE, vec<S, 2> p, uint face, uint layer)
  MB_SAMPLE(2, true, MB_CUBE_LAYER, float3 p, uint layer)
  MB_COMPARE(true, MB_CUBE_LAYER, float3 p, uint layer)
  MB_WIDTH MB_HEIGHT MB_ARRAY_SIZE(6)
};

template <class T, access a = access::read>
struct depth2d_ms : MB_DEPTH_HANDLE(texture2d_ms) {
  MB_MULTISAMPLED
};

#undef MB_TEXTURE_TEMPLATE
#undef MB_HANDLE
#undef MB_DEPTH_HANDLE
#undef MB_READ
#undef MB_READ_WRITE
#undef MB_USHORT_READ_WRITE
#undef MB_USHORT
#undef MB_WRITE
#undef MB_SAMPLE
#undef MB_GATHER
#undef MB_COMPARE
#undef MB_WIDTH
#undef MB_HEIGHT
#undef MB_ARRAY_SIZE
#undef MB_SIZE
#undef MB_FACE
#undef MB_ATOMIC_METHODS
#undef MB_ATOMIC_FETCH
#undef MB_ATOMIC_TEXEL
#undef MB_MULTISAMPLED
#undef MB_CUBE_SLICE
#undef MB_LAYER
#undef MB_CUBE_LAYER
#undef MB_OFFSET

template <class T, access a, mb::TextureType type, bool depth>
MB_FUNC bool is_null_texture(const mb::TextureHandle<T, a, type, depth>& t) {
  return t.mb_texture == nullptr;
}

}  // namespace metal
