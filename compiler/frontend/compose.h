// What an instance is made of: its calls, repeats and scans, each with instances of its own.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/instance.h"

namespace graphrun::frontend {

// A call, scan or repeat of an instance.
class Sub {
 public:
  Sub(Instance& parent, const InstanceDef& def);
  virtual ~Sub() = default;
  virtual std::shared_ptr<const StateTree> tree() = 0;
  virtual ir::TensorType leaf_type(const Leaf& leaf) = 0;
  virtual Meaning zero(const Leaf& leaf) = 0;
  virtual Meaning end() = 0;
  virtual Meaning output(const std::string& name, const Location& at) = 0;

  Instance& parent() { return parent_; }
  const InstanceDef& def() const { return def_; }
  const std::string& path() const { return path_; }

 protected:
  Location at() const { return parent_.at(def_.at); }
  // The callee's inputs, each evaluated lazily in the parent.
  void bind(std::map<std::string, Thunk>& out, const std::vector<ir::Binding>& bindings, std::optional<int> index,
            const std::function<Meaning(const Meaning&, const std::string& name)>& through = {});
  void check_inputs(const std::map<std::string, Thunk>& inputs);
  Instance::Setup setup(std::optional<int> index, const std::string& path, Region& region);
  // What `begin:` sets for a leaf; nothing if it does not mention the leaf. `notes`: why the value differs from what the
  // binding literally says.
  std::optional<Meaning> given(const StateTree& tree, const Leaf& leaf, std::optional<int> index,
                               std::vector<std::string>* notes = nullptr);
  void check_begins();  // checks that there are states to begin

  Instance& parent_;
  const InstanceDef& def_;
  std::shared_ptr<const GraphValue> graph_;
  std::string path_, declared_path_, parameters_path_;  // as in Instance::Setup
  const Location* via_;
};

std::unique_ptr<Sub> make_sub(Instance& parent, const InstanceDef& def);
std::unique_ptr<Sub> make_scan(Instance& parent, const InstanceDef& def);

}  // namespace graphrun::frontend
