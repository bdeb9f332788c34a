// The sizes of an instance: what the names in its shapes mean, and whether values fit the shapes that are declared.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/frontend/meaning.h"

namespace graphrun::frontend {

class Instance;

class InstanceSizes {
 public:
  explicit InstanceSizes(Instance& instance) : instance_(instance) {}

  void set(const std::string& name, const Dim& dim) { symbols_[name] = dim; }
  // The size that a name in a shape means, as an input or an equation determines it. Throws Failure (E0230) if nothing does.
  Meaning symbol(const std::string& name, const Location& at);
  Dim size(const ir::Expression& e);
  Shape shape(const std::vector<ir::Expression>& sizes);
  // Checks a value of this type against a declared shape, and takes the sizes of names that are not known yet from it. Throws
  // Failure (E0301, E0304); `notes` go to its message.
  void fit(const ir::TensorType& type, const std::vector<ir::Expression>& want, const std::string& what, const Location& at,
           const std::vector<std::string>& notes = {});

 private:
  Instance& instance_;
  std::map<std::string, Dim> symbols_;
};

}  // namespace graphrun::frontend
