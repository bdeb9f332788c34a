// What a network's infer blocks write for a data set, for the reports that compare it with the data's own text.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/device/device.h"
#include "tools/data/dataset.h"
#include "tools/model/model_folder.h"

namespace graphrun {

class Generator;

class Writings {
 public:
  // `graph`: the network in inference, which is kept. `network` must outlive it.
  Writings(ir::Graph graph, const Network& network, const Device& device);
  ~Writings();

  // Whether any report reads some.
  bool wanted() const { return !network_.report->texts().empty(); }
  // Hands each such report a line and its reference for every example. `set` was read with the report's text_fields().
  // False where `stop` said so between two batches.
  bool add(const Dataset& set, const Variables& parameters, const std::function<bool()>& stop);
  // Of the last add(), the first so many examples (train.validate.samples): what went in, what came out, what was expected.
  const std::vector<std::string>& samples() const { return samples_; }

 private:
  void add_generator(const InferSpec& mode);
  // The generators of a mode with these parameters, one for each thread that may have batches of its own; made where they are
  // first needed.
  const std::vector<std::unique_ptr<Generator>>& generators(const InferSpec& mode, const Variables& parameters);
  // The lines of all examples, by their numbers; false where it was stopped.
  bool write(const std::string& mode, const Dataset& set, const Variables& parameters, const std::function<bool()>& stop,
             std::vector<std::string>& lines);
  void show(const std::string& mode, const std::vector<std::string>& fields, const Dataset& set,
            const std::vector<std::string>& lines);

  const ir::Graph graph_;
  const Network& network_;
  const Device& device_;
  std::map<std::string, std::vector<std::unique_ptr<Generator>>> generators_;  // by mode
  std::vector<std::string> samples_;
};

}  // namespace graphrun
