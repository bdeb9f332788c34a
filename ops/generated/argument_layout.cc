#include "ops/generated/argument_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

std::size_t aligned_end(std::size_t at, std::size_t alignment) { return (at + alignment - 1) / alignment * alignment; }

}  // namespace

void ArgumentLayout::check_count(const std::string& name, std::size_t count) {
  GRAPHRUN_CHECK(count > 0, "the argument '" + name + "' of a generated kernel is an array of nothing");
}

Argument ArgumentLayout::append(LayoutMember member) {
  for (const LayoutMember& other : members_) {
    GRAPHRUN_CHECK(other.inside || other.name != member.name, "two arguments '" + member.name + "' of a generated kernel");
  }
  member.at = aligned_end(end_, member.alignment);
  end_ = member.at + member.size * std::max<std::size_t>(member.count, 1);
  alignment_ = std::max(alignment_, member.alignment);
  members_.push_back(std::move(member));
  return {members_.size() - 1};
}

Argument ArgumentLayout::add_address(std::string name, const std::string& to) {
  return append({std::move(name), to + "*", typeid(const void*), sizeof(const void*), alignof(const void*)});
}

Argument ArgumentLayout::add_struct(std::string name, std::string type, const ArgumentLayout& members) {
  LayoutMember outer{std::move(name), std::move(type), typeid(ArgumentLayout), members.bytes(), members.alignment_};
  outer.is_struct = true;
  const Argument added = append(std::move(outer));
  const std::size_t begin = members_[added.index].at;
  for (LayoutMember member : members.members_) {
    member.inside = true;
    member.at += begin;
    members_.push_back(std::move(member));
  }
  return added;
}

void ArgumentLayout::check_type(Argument argument, std::type_index type, std::size_t count) const {
  GRAPHRUN_CHECK(argument.index < members_.size(), "a generated kernel has no such argument");
  const LayoutMember& member = members_[argument.index];
  GRAPHRUN_CHECK(member.held == type, "the argument '" + member.name + "' of a generated kernel has another type");
  GRAPHRUN_CHECK(std::max<std::size_t>(member.count, 1) == count,
                 fmt::format("the argument '{}' of a generated kernel holds {} values, not {}", member.name,
                             std::max<std::size_t>(member.count, 1), count));
}

void ArgumentLayout::keep(Argument argument, const void* value) {
  LayoutMember& member = members_[argument.index];
  GRAPHRUN_CHECK(member.value.empty(), "the argument '" + member.name + "' of a generated kernel has a value");
  const auto* const bytes = static_cast<const std::byte*>(value);
  member.value.assign(bytes, bytes + member.size);
}

std::string ArgumentLayout::text(const std::string& name) const {
  std::string text = "struct " + name + " {\n";
  for (const LayoutMember& m : members_) {
    if (m.inside) continue;
    text += m.count == 0 ? fmt::format("  {} {};\n", m.type, m.name) : fmt::format("  {} {}[{}];\n", m.type, m.name, m.count);
  }
  return text + fmt::format("}};\nstatic_assert(sizeof({}) == {});\n", name, bytes());
}

std::size_t ArgumentLayout::bytes() const { return std::max<std::size_t>(aligned_end(end_, alignment_), 1); }

ArgumentBytes::ArgumentBytes(const ArgumentLayout& layout) : layout_(layout) {
  GRAPHRUN_CHECK(layout.bytes() <= kMostBytes, "a generated kernel with too many arguments");
  std::memset(bytes_, 0, layout.bytes());
  for (std::size_t i = 0; i < layout.members_.size(); ++i) {
    const ArgumentLayout::LayoutMember& member = layout.members_[i];
    if (member.is_struct) set_.set(i);
    if (!member.value.empty()) put({i}, member.value.data(), member.value.size());
  }
}

void ArgumentBytes::put(Argument argument, const void* value, std::size_t bytes) {
  const ArgumentLayout::LayoutMember& member = layout_.members_[argument.index];
  GRAPHRUN_CHECK(!set_[argument.index], "the argument '" + member.name + "' of a generated kernel has a value");
  std::memcpy(bytes_ + member.at, value, bytes);
  set_.set(argument.index);
}

std::span<const std::byte> ArgumentBytes::bytes() const {
  for (std::size_t i = 0; i < layout_.members_.size(); ++i) {
    GRAPHRUN_CHECK(set_[i], "the argument '" + layout_.members_[i].name + "' of a generated kernel has no value");
  }
  return {bytes_, layout_.bytes()};
}

}  // namespace graphrun
