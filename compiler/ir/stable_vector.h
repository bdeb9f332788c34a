// A vector whose elements keep their addresses when others are added: a reference is valid until that element or the vector is
// destroyed. Copies are deep. Moving the vector does not move its elements and does not throw (std::deque's move may).
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace graphrun::ir {

template <class T>
class StableVector {
  using Slots = std::vector<std::unique_ptr<T>>;

  template <class Slot, class Element>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Element*;
    using reference = Element&;

    Iterator() = default;
    explicit Iterator(Slot slot) : slot_(slot) {}
    reference operator*() const { return **slot_; }
    pointer operator->() const { return slot_->get(); }
    Iterator& operator++() { return ++slot_, *this; }
    Iterator operator++(int) { return Iterator(slot_++); }
    friend Iterator operator+(Iterator i, difference_type n) { return Iterator(i.slot_ + n); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Slot slot_{};
  };

 public:
  using value_type = T;
  using iterator = Iterator<typename Slots::iterator, T>;
  using const_iterator = Iterator<typename Slots::const_iterator, const T>;

  StableVector() = default;
  StableVector(const StableVector& other) {
    slots_.reserve(other.size());
    for (const T& element : other) push_back(element);
  }
  StableVector(StableVector&&) noexcept = default;
  StableVector& operator=(const StableVector& other) {
    if (this != &other) *this = StableVector(other);
    return *this;
  }
  StableVector& operator=(StableVector&&) noexcept = default;

  std::size_t size() const { return slots_.size(); }
  bool empty() const { return slots_.empty(); }
  T& operator[](std::size_t i) { return *slots_[i]; }
  const T& operator[](std::size_t i) const { return *slots_[i]; }
  T& back() { return *slots_.back(); }
  const T& back() const { return *slots_.back(); }
  iterator begin() { return iterator(slots_.begin()); }
  iterator end() { return iterator(slots_.end()); }
  const_iterator begin() const { return const_iterator(slots_.begin()); }
  const_iterator end() const { return const_iterator(slots_.end()); }

  void push_back(T element) { slots_.push_back(std::make_unique<T>(std::move(element))); }
  // Erases all but the first `count` elements; there must be at least that many.
  void truncate(std::size_t count) { slots_.resize(count); }

 private:
  Slots slots_;
};

}  // namespace graphrun::ir
