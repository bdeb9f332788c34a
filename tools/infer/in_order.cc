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
#include "tools/processes/message.h"

namespace graphrun {
namespace {

class OrderedRun {
 public:
  OrderedRun(InferenceReader& reader, Answerer& answerer, const std::function<void(const std::string&)>& write_links,
             Communicator* processes, std::size_t most_waiting)
      : reader_(reader),
        together_(answerer),
        processes_(processes),
        most_waiting_(most_waiting),
        texts_([](const std::string& text) { write_output("-", text); }),
        links_(write_links) {}

  void run() {
    try {
      answer_all();
    } catch (const PeerEnd&) {
      throw;
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
    }
    if (processes_ != nullptr) exchange();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void answer_all() {
    while (!failure_) {
      std::optional<InferenceBatch> batch = next_batch();
      if (!batch) break;
      if (worth_sharing() && may_share()) {
        answer_apart(*std::move(batch));
      } else {
        answer(together_, *batch);
        answer_those_before_the_failure();
      }
    }
  }

  // After a failure, the records that the reader holds may precede it.
  void answer_those_before_the_failure() {
    while (failure_ && reader_.is_ahead()) {
      if (const std::optional<InferenceBatch> batch = next_batch()) answer(together_, *batch);
    }
  }

  // The next batch of this process.
  std::optional<InferenceBatch> next_batch() {
    std::optional<InferenceBatch> batch = reader_.next();
    if (processes_ == nullptr) return batch;
    for (; batch; batch = reader_.next()) {
      const std::int64_t number = read_++, n = processes_->size();
      if (number > 0 && number % (n * kBatchesBetweenExchanges) == 0) exchange();
      if (number % n == processes_->rank()) break;
    }
    return batch;
  }

  // Sends answers to process 0, which writes them. All processes call it after the same batches, and at their end.
  void exchange() {
    MessageWriter own;
    for (const auto& [numbers, answers] : unsent_) {
      own.add(static_cast<std::int64_t>(numbers.size()));
      own.add(static_cast<std::int64_t>(!answers.links.empty()));
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        own.add(numbers[i]);
        own.add(answers.texts[i]);
        if (!answers.links.empty()) own.add(answers.links[i]);
      }
    }
    unsent_.clear();
    for (const std::string& theirs : processes_->collect(own.bytes())) {
      MessageReader reader(theirs);
      while (!reader.at_end()) {
        std::vector<std::int64_t> numbers(static_cast<std::size_t>(reader.number()));
        const bool has_links = reader.number() != 0;
        Answers answers;
        for (std::int64_t& number : numbers) {
          number = reader.number();
          answers.texts.push_back(reader.text());
          if (has_links) answers.links.push_back(reader.text());
        }
        write(numbers, std::move(answers));
      }
    }
  }

  void write(const std::vector<std::int64_t>& numbers, Answers answers) {
    if (!answers.links.empty()) links_.add(numbers, std::move(answers.links));
    texts_.add(numbers, std::move(answers.texts));
  }

  // Whether most threads would have a batch. With fewer batches, it is better if all threads share each.
  bool worth_sharing() const {
    const std::int64_t n = processes_ == nullptr ? 1 : processes_->size();
    return 2 * (reader_.batches_ahead() / n + 1) > threads();
  }

  // Whether there are answerers for threads; they are created on first use.
  bool may_share() {
    while (can_share_ && threads() > 1 && static_cast<int>(apart_.size()) < threads()) {
      apart_.push_back(together_.share());
      can_share_ = apart_.back() != nullptr;
    }
    return can_share_ && threads() > 1;
  }

  // This batch and those after it, until one comes alone. The threads last as long as that, however often the reader reads
  // ahead: starting them takes time.
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
    answer_those_before_the_failure();
  }

  // nullopt if the threads should end.
  std::optional<InferenceBatch> next_apart() {
    const std::lock_guard<std::mutex> guard(lock_);
    if (is_over_ || (failure_ && !reader_.is_ahead())) return std::nullopt;
    const bool was_ahead = reader_.is_ahead();
    std::optional<InferenceBatch> batch;
    try {
      batch = next_batch();
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
      if (processes_ != nullptr && processes_->rank() != 0) {
        unsent_.emplace_back(batch.numbers, std::move(answers));
        return true;
      }
      write(batch.numbers, std::move(answers));
      if (processes_ != nullptr) return true;  // all of them must read the same batches
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

  static constexpr std::int64_t kEverything = -1;               // no batch begins at or before it
  static constexpr std::int64_t kBatchesBetweenExchanges = 32;  // of each process

  InferenceReader& reader_;
  Answerer& together_;
  Communicator* const processes_;  // null if there is only this one
  const std::size_t most_waiting_;
  std::vector<std::unique_ptr<Answerer>> apart_;
  bool can_share_ = true;
  std::mutex lock_;  // protects the reader and the members below while threads answer separately
  InOrder texts_, links_;
  std::vector<std::pair<std::vector<std::int64_t>, Answers>> unsent_;  // with the numbers of their records
  std::int64_t read_ = 0;                                              // batches of all processes
  std::exception_ptr failure_;
  std::int64_t failed_ = 0;           // the first record of the batch that failed
  bool is_over_ = false;              // no thread takes another batch
  std::vector<InferenceBatch> left_;  // for all threads together
  bool lacks_memory_ = false;
};

}  // namespace

void InOrder::add(const std::vector<std::int64_t>& numbers, std::vector<std::string> texts) {
  GRAPHRUN_CHECK(texts.size() == numbers.size(), "InOrder: a text for each record");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    waiting_bytes_ += texts[i].size();
    waiting_.emplace(numbers[i], std::move(texts[i]));
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
                     Communicator* together, std::size_t most_waiting) {
  OrderedRun(reader, answerer, write_links, together, most_waiting).run();
}

}  // namespace graphrun
