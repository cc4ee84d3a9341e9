// Element type of the memory behind a kernel's pointer, for any spelling in the source.
#pragma once

#include "array.h"
#include "atomic.h"
#include "matrix.h"
#include "packed.h"

namespace mb {

// No single element type: a struct, an enumeration, an address.
template <class T>
inline constexpr Element numbers_of = Element::any;
template <>
inline constexpr Element numbers_of<bool> = Element::boolean;
template <>
inline constexpr Element numbers_of<char> = Element::int8;
template <>
inline constexpr Element numbers_of<signed char> = Element::int8;
template <>
inline constexpr Element numbers_of<unsigned char> = Element::uint8;
template <>
inline constexpr Element numbers_of<short> = Element::int16;
template <>
inline constexpr Element numbers_of<unsigned short> = Element::uint16;
template <>
inline constexpr Element numbers_of<int> = Element::int32;
template <>
inline constexpr Element numbers_of<unsigned int> = Element::uint32;
template <>
inline constexpr Element numbers_of<long> = Element::int64;
template <>
inline constexpr Element numbers_of<unsigned long> = Element::uint64;
template <>
inline constexpr Element numbers_of<long long> = Element::int64;
template <>
inline constexpr Element numbers_of<unsigned long long> = Element::uint64;
template <>
inline constexpr Element numbers_of<metal::half> = Element::float16;
template <>
inline constexpr Element numbers_of<metal::bfloat> = Element::bfloat16;
template <>
inline constexpr Element numbers_of<float> = Element::float32;

template <class T>
inline constexpr Element numbers_of<const T> = numbers_of<T>;
template <class T>
inline constexpr Element numbers_of<volatile T> = numbers_of<T>;
template <class T>
inline constexpr Element numbers_of<const volatile T> = numbers_of<T>;
template <class T, unsigned long N>
inline constexpr Element numbers_of<T[N]> = numbers_of<T>;
template <class T, unsigned long N>
inline constexpr Element numbers_of<metal::array<T, N>> = numbers_of<T>;
template <class T, int N>
inline constexpr Element numbers_of<metal::vec<T, N>> = numbers_of<T>;
template <class T, int N>
inline constexpr Element numbers_of<metal::packed_vec<T, N>> = numbers_of<T>;
template <class T, int C, int R>
inline constexpr Element numbers_of<metal::matrix<T, C, R>> = numbers_of<T>;
template <class T>
inline constexpr Element numbers_of<metal::_atomic<T>> = numbers_of<T>;

}  // namespace mb
