// Answers that are made in any order, by several threads, and written in the order of the input.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  // Bytes of the texts that a missing one comes before.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  const std::function<void(const std::string&)> write_;
  std::map<std::int64_t, std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::int64_t next_ = 0;
};

// Of each record of a batch, in its order.
struct Answers {
  std::vector<std::string> texts;  // for stdout
  std::vector<std::string> links;  // for the file of alignments, if there is one
};

class Answerer {
 public:
  virtual ~Answerer() = default;
  virtual Answers answer(const InferenceBatch& batch) = 0;
  // Another one that gives the same answers, for another thread at the same time; null: there can be none.
  virtual std::unique_ptr<Answerer> share() const = 0;
};

// Has every batch answered, and the answers written in the order of the input. While there are batches for most threads, each
// thread answers batches of its own, which is faster than sharing each batch among them; else all of them share the batch, also
// one for which memory is lacking otherwise. Neither changes an answer. `write_links`: called for the links, if any.
// Throws the reader's errors and the answerer's, the first in the input's order, after the answers to all records before that
// batch were written. If answers of more than `most_waiting` bytes wait for an earlier one, the batches that follow are in the
// input's order.
inline constexpr std::size_t kMostWaiting = std::size_t{64} << 20;
void answer_in_order(InferenceReader& reader, Answerer& answerer, const std::function<void(const std::string&)>& write_links,
                     std::size_t most_waiting = kMostWaiting);

}  // namespace graphrun
