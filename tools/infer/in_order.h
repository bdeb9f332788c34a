// Answers that are made in any order and written in the input's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/data/inference_reader.h"

namespace graphrun {

// Texts by number, which are written from 0 on without a gap.
class InOrder {
 public:
  explicit InOrder(std::function<void(const std::string&)> write) : write_(std::move(write)) {}

  // A text for each record of the batch, in its order. Writes, at once, those that no missing text comes before.
  void add(const InferenceBatch& batch, std::vector<std::string> texts);

 private:
  const std::function<void(const std::string&)> write_;
  std::map<std::int64_t, std::string> waiting_;
  std::int64_t next_ = 0;
};

using Answer = std::function<std::vector<std::string>(const InferenceBatch&)>;

// Runs `answer` on every batch and writes to stdout what it returns, a text for each record of the batch, in the input's order.
// Throws the reader's errors and those of `answer`, the first in the input's order, after the answers to all records before
// that batch were written.
void answer_in_order(InferenceReader& reader, const Answer& answer);

}  // namespace graphrun
