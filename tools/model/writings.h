// What a network's infer blocks write for a data set, for reports that compare it with text of the data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/communicator/communicator.h"
#include "runtime/device/device.h"
#include "tools/data/dataset.h"
#include "tools/model/model_folder.h"

namespace graphrun {

class Generator;

class Writings {
 public:
  // `graph`: the network in inference. `network` must outlive it.
  Writings(ir::Graph graph, const Network& network, const Device& device);
  ~Writings();

  // Whether any report reads such text.
  bool wanted() const { return !network_.report->texts().empty(); }
  // Passes each such report a line and its reference for every example. `set` was read with the report's text_fields(). False
  // if `stop` returned true between two batches. `together`: processes that share the batches, all of which call it; only the
  // reports of process 0 receive lines; null if there is only this process. Throws PeerEnd.
  bool add(const Dataset& set, const Variables& parameters, const std::function<bool()>& stop,
           Communicator* together = nullptr);
  // The first train.validate.samples examples of the last add(): input, output and reference.
  const std::vector<std::string>& samples() const { return samples_; }

 private:
  void add_generator(const InferSpec& mode);
  // The generators of a mode with these parameters, one for each thread that may have batches of its own; created on first use.
  const std::vector<std::unique_ptr<Generator>>& generators(const InferSpec& mode, const Variables& parameters);
  // The group of an example in a report that has groups.
  TextGroup group_of(const TextMeasure& measure, const Dataset& set, std::int64_t example) const;
  // Sets the lines of all examples, by number; false if it was stopped, in any process.
  bool write(const std::string& mode, const Dataset& set, const Variables& parameters, const std::function<bool()>& stop,
             Communicator* together, std::vector<std::string>& lines);
  static bool collect(Communicator& together, bool stopped, const std::vector<std::int64_t>& written,
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
