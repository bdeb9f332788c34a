// What the compiler hands to the runtime: plain data. Regions of instructions over values; sizes are Dims, storage is decided
// but offsets are not: they follow from the sizes when a batch is bound.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/attributes.h"
#include "runtime/dtype.h"
#include "runtime/shape.h"
#include "runtime/status.h"

namespace graphrun {

struct VariableSpec {
  enum class Kind : std::uint8_t { kParameter, kSlot, kState } kind = Kind::kParameter;
  enum class Init : std::uint8_t { kConstant, kUniform, kNormal, kOrthogonal, kXavier } init = Init::kConstant;
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;  // numbers for parameters and slots
  double init_amount = 0;
  bool trainable = true;
};

struct FeedSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::optional<Dim> below;  // INT32: elements are in [0, below), checked on every run
  std::optional<Symbol> lengths_of;
};

struct FetchSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
};

struct Program;

}  // namespace graphrun
