// The named, typed attributes of an op's node: plain data that compiler and kernels share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/shape.h"

namespace graphrun {

enum class AttributeKind { kBool, kInt, kFloat, kString, kDim, kShape, kInts };

// In the order of AttributeKind.
using Attribute = std::variant<bool, std::int64_t, double, std::string, Dim, Shape, std::vector<std::int64_t>>;

class Attributes {
 public:
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void set(std::string name, Attribute value) { values_[std::move(name)] = std::move(value); }
  void erase(std::string_view name) {
    if (auto it = values_.find(name); it != values_.end()) values_.erase(it);
  }

  // Each throws InternalError if the attribute is missing or of another kind; the schema has already checked both.
  bool boolean(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  const std::string& string(std::string_view name) const { return get<std::string>(name); }
  const Dim& dim(std::string_view name) const { return get<Dim>(name); }
  const Shape& shape(std::string_view name) const { return get<Shape>(name); }
  const std::vector<std::int64_t>& integers(std::string_view name) const { return get<std::vector<std::int64_t>>(name); }

  const std::map<std::string, Attribute, std::less<>>& all() const { return values_; }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  template <class T>
  const T& get(std::string_view name) const;
  std::map<std::string, Attribute, std::less<>> values_;
};

[[noreturn]] void missing_attribute(std::string_view name);

template <class T>
const T& Attributes::get(std::string_view name) const {
  auto it = values_.find(name);
  if (it == values_.end() || !std::holds_alternative<T>(it->second)) missing_attribute(name);
  return std::get<T>(it->second);
}

}  // namespace graphrun
