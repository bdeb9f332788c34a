#include "tools/infer/in_order.h"

#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/threads/own_threads.h"
#include "tools/cli/program.h"

namespace graphrun {
namespace {

class OrderedRun {
 public:
  OrderedRun(InferenceReader& reader, Answerer& answerer, const std::function<void(const std::string&)>& write_links,
             std::size_t most_waiting)
      : reader_(reader),
        together_(answerer),
        most_waiting_(most_waiting),
        texts_([](const std::string& text) { write_output("-", text); }),
        links_(write_links) {}

  void run() {
    while (!failure_) {
      std::optional<InferenceBatch> batch = reader_.next();
      if (!batch) break;
      if (worth_sharing() && may_share()) {
        answer_apart(*std::move(batch));
      } else {
        answer(together_, *batch);
        while (failure_ && reader_.is_ahead()) answer(together_, *reader_.next());
      }
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // Whether most threads would have a batch. With fewer batches, it is better if all threads share each.
  bool worth_sharing() const { return 2 * (reader_.batches_ahead() + 1) > threads(); }

  // Whether there are answerers for threads; they are created on first use.
  bool may_share() {
    while (can_share_ && threads() > 1 && static_cast<int>(apart_.size()) < threads()) {
      apart_.push_back(together_.share());
      can_share_ = apart_.back() != nullptr;
    }
    return can_share_ && threads() > 1;
  }

  // This batch and those after it, until one comes alone. The threads last as long as that, however often the reader reads
  // ahead: libxsmm has room for a limited number of threads in the life of a process.
  void answer_apart(InferenceBatch first) {
    left_.clear(), is_over_ = false;
    on_own_threads(threads(), [&](int i) {
      std::optional<InferenceBatch> batch = i == 0 ? std::optional(std::move(first)) : next_apart();
      for (; batch; batch = next_apart()) {
        if (!answer(*apart_[static_cast<std::size_t>(i)], *batch)) leave(*std::move(batch));
      }
    });
    if (std::exchange(lacks_memory_, false)) apart_.clear(), can_share_ = false;
    for (const InferenceBatch& batch : left_) answer(together_, batch);
    while (failure_ && reader_.is_ahead()) answer(together_, *reader_.next());
  }

  // nullopt if the threads should end.
  std::optional<InferenceBatch> next_apart() {
    const std::lock_guard<std::mutex> guard(lock_);
    if (is_over_ || (failure_ && !reader_.is_ahead())) return std::nullopt;
    const bool was_ahead = reader_.is_ahead();
    std::optional<InferenceBatch> batch;
    try {
      batch = reader_.next();
    } catch (...) {  // the error of a record after all returned ones
      if (!failure_) failure_ = std::current_exception(), failed_ = std::numeric_limits<std::int64_t>::max();
    }
    is_over_ = !batch;
    if (!batch || was_ahead || reader_.is_ahead()) return batch;
    is_over_ = true;  // it was the only one
    left_.push_back(*std::move(batch));
    return std::nullopt;
  }

  // Keeps a batch that needs more memory than is free while others are answered, for all threads together.
  void leave(InferenceBatch batch) {
    const std::lock_guard<std::mutex> guard(lock_);
    left_.push_back(std::move(batch));
    is_over_ = lacks_memory_ = true;
  }

  // Skips batches after one that failed. False if memory ran out while several batches were answered.
  bool answer(Answerer& answerer, const InferenceBatch& batch) {
    if (is_skipped(batch)) return true;
    Answers answers;
    try {
      answers = answerer.answer(batch);
    } catch (const UserError& error) {
      if (error.exit_code() == ExitCode::kNoRoom && &answerer != &together_) return false;
      return fail(batch.numbers.front()), true;
    } catch (...) {
      return fail(kEverything), true;
    }
    const std::lock_guard<std::mutex> guard(lock_);
    if (failure_ && batch.numbers.front() > failed_) return true;
    try {
      if (!answers.links.empty()) links_.add(batch, std::move(answers.links));
      texts_.add(batch, std::move(answers.texts));
      if (texts_.waiting_bytes() + links_.waiting_bytes() > most_waiting_) reader_.return_to_order();
    } catch (...) {  // nothing more can be written
      failure_ = std::current_exception(), failed_ = kEverything;
    }
    return true;
  }

  bool is_skipped(const InferenceBatch& batch) {
    const std::lock_guard<std::mutex> guard(lock_);
    return failure_ && batch.numbers.front() > failed_;
  }

  // Records the current exception as the failure, unless an earlier record failed.
  void fail(std::int64_t record) {
    const std::lock_guard<std::mutex> guard(lock_);
    if (failure_ && record > failed_) return;
    failure_ = std::current_exception(), failed_ = record;
  }

  static constexpr std::int64_t kEverything = -1;  // no batch begins at or before it

  InferenceReader& reader_;
  Answerer& together_;
  const std::size_t most_waiting_;
  std::vector<std::unique_ptr<Answerer>> apart_;
  bool can_share_ = true;
  std::mutex lock_;  // protects the reader and the members below while threads answer separately
  InOrder texts_, links_;
  std::exception_ptr failure_;
  std::int64_t failed_ = 0;           // the first record of the batch that failed
  bool is_over_ = false;              // no thread takes another batch
  std::vector<InferenceBatch> left_;  // for all threads together
  bool lacks_memory_ = false;
};

}  // namespace

void InOrder::add(const InferenceBatch& batch, std::vector<std::string> texts) {
  GRAPHRUN_CHECK(texts.size() == batch.numbers.size(), "InOrder: a text for each record");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    waiting_bytes_ += texts[i].size();
    waiting_.emplace(batch.numbers[i], std::move(texts[i]));
  }
  std::string text;
  for (; !waiting_.empty() && waiting_.begin()->first == next_; ++next_) {
    waiting_bytes_ -= waiting_.begin()->second.size();
    text += waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
  }
  if (!text.empty()) write_(text);
}

void answer_in_order(InferenceReader& reader, Answerer& answerer, const std::function<void(const std::string&)>& write_links,
                     std::size_t most_waiting) {
  OrderedRun(reader, answerer, write_links, most_waiting).run();
}

}  // namespace graphrun
