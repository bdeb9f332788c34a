#include "tools/infer/in_order.h"

#include <exception>

#include "runtime/base/status.h"
#include "tools/cli/program.h"

namespace graphrun {

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

void answer_in_order(InferenceReader& reader, const Answer& answer) {
  InOrder written([](const std::string& text) { write_output("-", text); });
  std::exception_ptr failure;
  std::int64_t failed = 0;  // the first record of the batch that failed
  while (!failure || reader.is_ahead()) {
    const std::optional<InferenceBatch> batch = reader.next();
    if (!batch) break;
    if (failure && batch->numbers.front() > failed) continue;
    try {
      written.add(*batch, answer(*batch));
    } catch (const UserError&) {
      failure = std::current_exception();
      failed = batch->numbers.front();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace graphrun
