// Element types, as the compiler sees them (Type) and as memory holds them (DType).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace graphrun {

// The type of a value in a graph. FLOAT is abstract: the graph's compilation chooses the precision.
enum class Type : std::uint8_t { kFloat, kInt32, kBool };

// What a buffer holds. A bool is one byte, 0 or 1.
enum class DType : std::uint8_t { kFloat32, kFloat64, kInt32, kBool };

// The floating-point type that a graph is compiled for.
enum class Precision : std::uint8_t { kFloat32, kFloat64 };

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return 4;
    case DType::kFloat64: return 8;
    case DType::kInt32: return 4;
    case DType::kBool: return 1;
  }
  return 0;
}

constexpr DType concrete(Type type, Precision precision) {
  switch (type) {
    case Type::kFloat: return precision == Precision::kFloat32 ? DType::kFloat32 : DType::kFloat64;
    case Type::kInt32: return DType::kInt32;
    case Type::kBool: return DType::kBool;
  }
  return DType::kFloat32;
}

constexpr Type type_of(DType dtype) {
  return dtype == DType::kInt32 ? Type::kInt32 : dtype == DType::kBool ? Type::kBool : Type::kFloat;
}

constexpr std::string_view name_of(Type type) {
  switch (type) {
    case Type::kFloat: return "FLOAT";
    case Type::kInt32: return "INT32";
    case Type::kBool: return "BOOL";
  }
  return "?";
}

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float32";
    case DType::kFloat64: return "float64";
    case DType::kInt32: return "int32";
    case DType::kBool: return "bool";
  }
  return "?";
}

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::kFloat32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::kFloat64;
}
template <>
constexpr DType dtype_of<std::int32_t>() {
  return DType::kInt32;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::kBool;
}
template <>
constexpr DType dtype_of<std::uint8_t>() {
  return DType::kBool;
}

}  // namespace graphrun
