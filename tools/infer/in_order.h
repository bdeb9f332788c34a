// Answers that several threads produce in any order, written in the order of the input.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/communicator/communicator.h"
#include "tools/data/inference_reader.h"

namespace graphrun {

// Numbered texts, written in order from 0 without gaps.
class InOrder {
 public:
  explicit InOrder(std::function<void(const std::string&)> write) : write_(std::move(write)) {}

  // Adds texts with these numbers. Writes those that no missing text precedes.
  void add(const std::vector<std::int64_t>& numbers, std::vector<std::string> texts);
  // Bytes of the texts that wait for a missing one.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

 private:
  const std::function<void(const std::string&)> write_;
  std::map<std::int64_t, std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::int64_t next_ = 0;
};

// By record of a batch, in order.
struct Answers {
  std::vector<std::string> texts;  // for stdout
  std::vector<std::string> links;  // for the file of alignments, if there is one
};

class Answerer {
 public:
  virtual ~Answerer() = default;
  virtual Answers answer(const InferenceBatch& batch) = 0;
  // Another one that gives the same answers, for concurrent use by another thread; null if impossible.
  virtual std::unique_ptr<Answerer> share() const = 0;
};

inline constexpr std::size_t kMostWaiting = std::size_t{64} << 20;
// Answers every batch and writes the answers in the order of the input. While there are batches for most threads, each thread
// answers batches of its own, which is faster than sharing each batch; otherwise, or if there is not enough memory for several
// batches, all threads share each batch. The answers are the same either way. `write_links`: called for links, if any. Throws
// the first error, in input order, of the reader or the answerer, after writing the answers to all records before that batch.
// If answers of more than `most_waiting` bytes wait for an earlier one, the batches that follow are in the input's order.
//
// `together`: processes that share the batches; null if there is only this one. All of them call it with readers of the same
// file. Each answers every N-th batch, and process 0 writes. After an error, some answers before it may be missing. Throws also
// PeerEnd.
void answer_in_order(InferenceReader& reader, Answerer& answerer, const std::function<void(const std::string&)>& write_links,
                     Communicator* together = nullptr, std::size_t most_waiting = kMostWaiting);

}  // namespace graphrun
