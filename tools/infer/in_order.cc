#include "tools/infer/in_order.h"

#include <exception>
#include <mutex>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/threads/own_threads.h"
#include "tools/cli/program.h"

namespace graphrun {
namespace {

class OrderedRun {
 public:
  OrderedRun(InferenceReader& reader, Answerer& answerer, const std::function<void(const std::string&)>& write_links)
      : reader_(reader),
        together_(answerer),
        texts_([](const std::string& text) { write_output("-", text); }),
        links_(write_links) {}

  void run() {
    while (!failure_) {
      const std::optional<InferenceBatch> batch = reader_.next();
      if (!batch) break;
      if (reader_.is_ahead() && may_share()) {
        answer_apart(*batch);
      } else {
        answer(together_, *batch);
        while (failure_ && reader_.is_ahead()) answer(together_, *reader_.next());
      }
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // Whether there are answerers for threads, which are made when they are first needed.
  bool may_share() {
    while (can_share_ && threads() > 1 && static_cast<int>(apart_.size()) < threads()) {
      apart_.push_back(together_.share());
      can_share_ = apart_.back() != nullptr;
    }
    return can_share_ && threads() > 1;
  }

  // This batch and all that were read with it.
  void answer_apart(const InferenceBatch& first) {
    on_own_threads(threads(), [&](int i) {
      if (i == 0) answer(*apart_[0], first);
      while (true) {
        std::optional<InferenceBatch> batch;
        {
          const std::lock_guard<std::mutex> guard(lock_);
          if (!reader_.is_ahead()) break;
          batch = reader_.next();
        }
        answer(*apart_[static_cast<std::size_t>(i)], *batch);
      }
    });
  }

  // Of a batch that begins after one that failed, nothing is wanted any more.
  void answer(Answerer& answerer, const InferenceBatch& batch) {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      if (failure_ && batch.numbers.front() > failed_) return;
    }
    try {
      Answers answers = answerer.answer(batch);
      const std::lock_guard<std::mutex> guard(lock_);
      if (!answers.links.empty()) links_.add(batch, std::move(answers.links));
      texts_.add(batch, std::move(answers.texts));
    } catch (const UserError&) {
      const std::lock_guard<std::mutex> guard(lock_);
      if (failure_ && batch.numbers.front() > failed_) return;
      failure_ = std::current_exception();
      failed_ = batch.numbers.front();
    }
  }

  InferenceReader& reader_;
  Answerer& together_;
  std::vector<std::unique_ptr<Answerer>> apart_;
  bool can_share_ = true;
  std::mutex lock_;  // for the reader and all below, while answerers run apart
  InOrder texts_, links_;
  std::exception_ptr failure_;
  std::int64_t failed_ = 0;  // the first record of the batch that failed
};

}  // namespace

void InOrder::add(const InferenceBatch& batch, std::vector<std::string> texts) {
  GRAPHRUN_CHECK(texts.size() == batch.numbers.size(), "InOrder: a text for each record");
  for (std::size_t i = 0; i < texts.size(); ++i) waiting_.emplace(batch.numbers[i], std::move(texts[i]));
  std::string text;
  for (; !waiting_.empty() && waiting_.begin()->first == next_; ++next_) {
    text += waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
  }
  if (!text.empty()) write_(text);
}

void answer_in_order(InferenceReader& reader, Answerer& answerer, const std::function<void(const std::string&)>& write_links) {
  OrderedRun(reader, answerer, write_links).run();
}

}  // namespace graphrun
