// The named, typed attributes of an op's node: plain data that compiler and kernels share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/shape.h"

namespace graphrun {

// A value whose type runtime/ does not know, such as the program of fused pointwise work: immutable, shared by its copies.
// Its type has `==`, and `print`, which returns the text that dumps show.
class OpaqueValue {
 public:
  template <class T>
  explicit OpaqueValue(T value) : held_(std::make_shared<const Of<T>>(std::move(value))) {}

  // Throws InternalError if the value is of another type.
  template <class T>
  const T& as() const {
    if (held_->type() != typeid(T)) wrong_type();
    return static_cast<const Of<T>&>(*held_).value;
  }
  std::string text() const { return held_->text(); }
  friend bool operator==(const OpaqueValue& a, const OpaqueValue& b) {
    return a.held_ == b.held_ || (a.held_->type() == b.held_->type() && a.held_->equals(*b.held_));
  }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual std::type_index type() const = 0;
    virtual std::string text() const = 0;
    virtual bool equals(const Held& other) const = 0;  // of the same type
  };
  template <class T>
  struct Of final : Held {
    explicit Of(T v) : value(std::move(v)) {}
    std::type_index type() const override { return typeid(T); }
    std::string text() const override { return print(value); }
    bool equals(const Held& other) const override { return static_cast<const Of&>(other).value == value; }
    const T value;
  };
  [[noreturn]] static void wrong_type();

  std::shared_ptr<const Held> held_;
};

enum class AttributeKind { kBool, kInt, kFloat, kString, kDim, kShape, kInts, kProgram };

// In the order of AttributeKind.
using Attribute = std::variant<bool, std::int64_t, double, std::string, Dim, Shape, std::vector<std::int64_t>, OpaqueValue>;

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
  const OpaqueValue& opaque(std::string_view name) const { return get<OpaqueValue>(name); }

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
