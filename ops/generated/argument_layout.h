// The arguments of a generated kernel. One list of members yields both the text of the struct that the kernel declares and the
// bytes that a launch passes, so that the two cannot differ.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <typeindex>
#include <vector>

namespace graphrun {

// The name of a host type in the text of a generated kernel. A struct that both sides know adds a specialization where it is
// used.
template <class T>
inline constexpr const char* kArgumentTypeName = nullptr;
template <>
inline constexpr const char* kArgumentTypeName<std::int32_t> = "std::int32_t";
template <>
inline constexpr const char* kArgumentTypeName<std::uint32_t> = "std::uint32_t";
template <>
inline constexpr const char* kArgumentTypeName<std::int64_t> = "std::int64_t";
template <>
inline constexpr const char* kArgumentTypeName<std::uint64_t> = "std::uint64_t";
template <>
inline constexpr const char* kArgumentTypeName<float> = "float";
template <>
inline constexpr const char* kArgumentTypeName<double> = "double";

// A handle to a member of a layout, through which its value is set.
struct Argument {
  std::size_t index = 0;
};

class ArgumentLayout {
 public:
  // Appends a member. Names are distinct C identifiers. `T` has a fixed size, is trivially copyable and is aligned to at most
  // 8.
  template <class T>
  Argument add(std::string name) {
    return append({std::move(name), type_name<T>(), typeid(T), sizeof(T), alignof(T)});
  }
  // Appends a member whose value is known before any launch.
  template <class T>
  Argument add(std::string name, const T& value) {
    const Argument added = add<T>(std::move(name));
    fix(added, value);
    return added;
  }
  // The same, if the text uses another name for T, such as `Index`.
  template <class T>
  Argument add_spelled(std::string name, std::string type, const T& value) {
    const Argument added = append({std::move(name), std::move(type), typeid(T), sizeof(T), alignof(T)});
    fix(added, value);
    return added;
  }
  // Appends an array. Throws InternalError if `count` is 0: C++ has no empty arrays.
  template <class T>
  Argument add_array(std::string name, std::size_t count) {
    check_count(name, count);
    return append({std::move(name), type_name<T>(), typeid(T), sizeof(T), alignof(T), count});
  }
  // Appends the address of elements of a type, such as "const float".
  Argument add_address(std::string name, const std::string& to);
  // Appends a struct of type `type`, which the text declares elsewhere from `members`; values that they have there are kept.
  // of_struct converts their handles to handles in this layout.
  Argument add_struct(std::string name, std::string type, const ArgumentLayout& members);
  static Argument of_struct(Argument added, Argument member) { return {added.index + 1 + member.index}; }

  // Gives a member its value for all launches. Throws InternalError if it has one already or is of another type.
  template <class T>
  void fix(Argument member, const T& value) {
    check_type(member, typeid(T), 1);
    keep(member, &value);
  }
  void fix_address(Argument member, const void* value) { fix(member, value); }

  // `struct Name { … };`, with an assertion that its size is bytes().
  std::string text(const std::string& name = "Arguments") const;
  std::size_t bytes() const;  // size of the struct

 private:
  friend class ArgumentBytes;
  struct LayoutMember {
    std::string name, type;  // as in the text
    std::type_index held;
    std::size_t size = 0, alignment = 1;
    std::size_t count = 0;  // of an array; 0 for other members
    bool is_struct = false;
    bool inside = false;  // belongs to a member struct, so the text does not list it
    std::size_t at = 0;
    std::vector<std::byte> value = {};  // if it is the same at every launch
  };

  template <class T>
  static std::string type_name() {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::uint64_t));
    static_assert(kArgumentTypeName<T> != nullptr, "how the text spells this type");
    return kArgumentTypeName<T>;
  }
  static void check_count(const std::string& name, std::size_t count);
  Argument append(LayoutMember member);
  void check_type(Argument member, std::type_index type, std::size_t count) const;
  void keep(Argument member, const void* value);

  std::vector<LayoutMember> members_;
  std::size_t end_ = 0, alignment_ = 1;
};

// The bytes of one launch. The layout must outlive it. Allocates nothing.
class ArgumentBytes {
 public:
  static constexpr std::size_t kMostBytes = 4096;  // what a launch can pass on any device

  explicit ArgumentBytes(const ArgumentLayout& layout);

  // These throw InternalError if the member has a value already, or another type or number of elements.
  template <class T>
  void set(Argument member, const T& value) {
    layout_.check_type(member, typeid(T), 1);
    put(member, &value, sizeof(T));
  }
  void set_address(Argument member, const void* value) { set(member, value); }
  template <class T>
  void set_all(Argument member, std::span<const T> values) {
    layout_.check_type(member, typeid(T), values.size());
    put(member, values.data(), values.size_bytes());
  }

  // Throws InternalError that names a member without a value, if there is one.
  std::span<const std::byte> bytes() const;

 private:
  void put(Argument member, const void* value, std::size_t bytes);

  const ArgumentLayout& layout_;
  alignas(std::uint64_t) std::byte bytes_[kMostBytes];
  std::bitset<kMostBytes> set_;  // by member; each takes at least one byte
};

}  // namespace graphrun
