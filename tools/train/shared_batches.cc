#include "tools/train/shared_batches.h"

#include <algorithm>

#include "tools/processes/message.h"
#include "tools/run/clock.h"

namespace graphrun {
namespace {

// What the processes exchange about their batches.
struct RoundFigures {
  double loss = 0, per = 0;
  std::int64_t rows = 0, tokens = 0, signal = 0;
};

std::size_t elements_of(const Variables& variables, const std::vector<std::string>& names) {
  std::size_t count = 0;
  for (const std::string& name : names) {
    GRAPHRUN_CHECK(variables.at(name).dtype() == DType::kFloat32, "sums of gradients are float32");
    count += static_cast<std::size_t>(variables.at(name).count());
  }
  return count;
}

}  // namespace

SharedBatches::SharedBatches(Communicator& together, BatchSource& source, Stepper& stepper, std::int64_t accumulate,
                             std::int64_t parts, std::function<bool(std::int64_t)> cut)
    : together_(together),
      source_(source),
      stepper_(stepper),
      cut_(std::move(cut)),
      accumulate_(accumulate),
      parts_(parts),
      share_{together.rank(), together.size(), parts > 1 ? parts : accumulate, 0},
      slots_(stepper.sums()),
      numbers_(elements_of(stepper.variables(), slots_)),
      sum_(together, numbers_.size()) {}

void SharedBatches::begin(const BatchPosition& at) {
  at_ = at;
  update_begin_ = at.batch - stepper_.pending().batches;
  if (parts_ == 1) share_.first = update_begin_;
  source_.begin(at, share_);
  counted_.clear();
  in_slots_ = true;
  waiting_ = communicating_ = 0;
}

std::optional<SharedBatches::Counted> SharedBatches::next(std::int64_t step, int signal) {
  if (counted_.empty()) {
    if (at_.batch >= source_.batches()) return std::nullopt;
    take_round(step, signal);
  }
  Counted first = std::move(counted_.front());
  counted_.pop_front();
  return first;
}

void SharedBatches::take_slots() {
  float* to = numbers_.data();
  for (const std::string& name : slots_) {
    const Tensor& slot = stepper_.variables().at(name);
    to = std::copy_n(slot.data<float>(), slot.count(), to);
  }
}

void SharedBatches::give_slots() {
  const float* from = numbers_.data();
  for (const std::string& name : slots_) {
    Tensor slot = stepper_.variables().at(name);
    std::copy_n(from, slot.count(), slot.data<float>());
    from += slot.count();
    slot.mark_written();
    stepper_.variables().set(name, slot);
  }
}

void SharedBatches::take_round(std::int64_t step, int signal) {
  const std::int64_t all = source_.batches(), begin = at_.batch;
  const auto number_in_update = [&](std::int64_t batch) { return (batch - update_begin_) % accumulate_; };
  const auto is_end = [&](std::int64_t batch) { return batch == all || number_in_update(batch) == 0 || cut_(batch); };
  std::int64_t end = begin + 1;
  while (!is_end(end) && share_.owner(end) == share_.owner(end - 1) + 1) ++end;
  const int first = share_.owner(begin), last = share_.owner(end - 1), me = share_.rank;
  const std::int64_t of_update = number_in_update(begin);
  const bool is_wanted = is_end(end);

  if (of_update > 0 && in_slots_) {  // the gradients of this process's batch will overwrite the sums
    take_slots();
    sum_.begin_from(numbers_);
  }
  RoundFigures own;
  own.signal = signal;
  if (first <= me && me <= last) {
    const std::optional<Batch> batch = source_.next();
    GRAPHRUN_CHECK(batch && batch->position.batch == begin + me - first, "a round's batch is another");
    const BatchFigures figures = stepper_.gradients(*batch, step, of_update + me - first);
    own = {figures.loss, figures.per, batch->rows, batch->tokens, signal};
    take_slots();
  }
  std::vector<RoundFigures> figures(static_cast<std::size_t>(together_.size()));
  const double computed = seconds_now();
  together_.share(&own, sizeof own, figures.data());
  const double shared = seconds_now();
  sum_.add(numbers_, first, last, of_update == 0, is_wanted);
  if (is_wanted) give_slots();
  waiting_ += shared - computed;
  communicating_ += seconds_now() - shared;
  in_slots_ = is_wanted;
  for (const RoundFigures& one : figures) signal_ = std::max(signal_, static_cast<int>(one.signal));
  for (std::int64_t i = begin; i < end; ++i) {
    const RoundFigures& one = figures[static_cast<std::size_t>(share_.owner(i))];
    Counted counted;
    counted.batch.rows = one.rows;
    counted.batch.tokens = one.tokens;
    counted.batch.position = {at_.epoch, i};
    counted.batch.last = i + 1 == all;
    counted.figures = {one.loss, one.per};
    counted_.push_back(std::move(counted));
  }
  at_.batch = end;
}

void SharedBatches::gather_states() {
  if (parts_ == 1) return;
  MessageWriter own;
  for (std::int64_t part = share_.rank; part < parts_; part += share_.processes) own.add(stepper_.states(part));
  const std::vector<std::string> all = together_.collect(own.bytes());
  if (share_.rank != 0) return;
  for (int rank = 1; rank < share_.processes; ++rank) {
    MessageReader theirs(all[static_cast<std::size_t>(rank)]);
    for (std::int64_t part = rank; part < parts_; part += share_.processes) stepper_.set_states(part, theirs.tensors());
  }
}

}  // namespace graphrun
