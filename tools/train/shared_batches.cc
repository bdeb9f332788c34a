#include "tools/train/shared_batches.h"

#include <algorithm>
#include <utility>

#include "tools/processes/message.h"
#include "tools/run/clock.h"

namespace graphrun {
namespace {

// What the processes exchange about their batches.
struct RoundFigures {
  double loss = 0, per = 0;
  std::int64_t rows = 0, tokens = 0, signal = 0;
};

// The offsets of variables that are stored one after another, each at a multiple of `unit`; finally, the end of all.
std::vector<std::size_t> beginnings(const Variables& variables, const std::vector<std::string>& names, std::size_t unit) {
  std::vector<std::size_t> begins = {0};
  for (const std::string& name : names) {
    GRAPHRUN_CHECK(variables.at(name).dtype() == DType::kFloat32, "sums of gradients are float32");
    const auto count = static_cast<std::size_t>(variables.at(name).count());
    begins.push_back(begins.back() + (count + unit - 1) / unit * unit);
  }
  return begins;
}

// The elements that each process owns are multiples of this.
std::size_t unit_of(const Recipe& recipe, const Stepper& stepper) {
  return recipe.shards_optimizer && stepper.is_on_cpu() ? ShardedUpdate::kUnit : OrderedSum::kBlock;
}

}  // namespace

SharedBatches::SharedBatches(Communicator& together, BatchSource& source, Stepper& stepper, const Recipe& recipe,
                             std::function<bool(std::int64_t)> cut)
    : together_(together),
      source_(source),
      stepper_(stepper),
      cut_(std::move(cut)),
      accumulate_(recipe.accumulate),
      parts_(recipe.parts),
      by_process_(recipe.sums_by_process),
      share_{together.rank(), together.size(), recipe.parts > 1 ? recipe.parts : recipe.accumulate, 0},
      slots_(stepper.sums()),
      begins_(beginnings(stepper.variables(), slots_, unit_of(recipe, stepper))),
      devices_(join_devices(stepper.device(), together)),
      sum_(make_sum(recipe)) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Tensor& slot = stepper.variables().at(slots_[i]);
    if (devices_) {
      places_on_device_.push_back(sum_.numbers_on_device().part(begins_[i] * sizeof(float), slot.bytes()));
    } else {
      places_.push_back(Tensor::part_of(sum_.numbers(), static_cast<std::int64_t>(begins_[i]), slot.sizes()));
    }
  }
  bring_slots();
  if (recipe.shards_optimizer && stepper.is_on_cpu()) sharded_.emplace(together, stepper, sum_, slots_, begins_);
}

OrderedSum SharedBatches::make_sum(const Recipe& recipe) {
  if (devices_) return {*devices_, begins_.back()};
  return {together_, begins_.back(), unit_of(recipe, stepper_)};
}

void SharedBatches::take_variables() {
  bring_slots();
  if (sharded_) sharded_->take();
}

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

// Makes the array contain the slots: moves there those that were set since, and copies what a device has computed.
void SharedBatches::bring_slots() {
  for (std::size_t i = 0; i < places_on_device_.size(); ++i) {
    stepper_.variables().put_on_device(slots_[i], places_on_device_[i]);
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Tensor& slot = stepper_.variables().at(slots_[i]);
    if (slot.raw() == places_[i].raw()) continue;
    std::copy_n(slot.data<float>(), slot.count(), places_[i].data<float>());
    stepper_.variables().set(slots_[i], places_[i]);
  }
}

void SharedBatches::clear_slots() {
  for (const DeviceMemory& place : places_on_device_) devices_->device().clear(place.raw(), place.bytes());
  for (const Tensor& place : places_) std::fill_n(place.data<float>(), place.count(), 0.0f);
}

void SharedBatches::mark_slots_written() {
  if (devices_) {
    for (const std::string& slot : slots_) stepper_.variables().mark_written_on_device(slot);
  }
  for (const Tensor& place : places_) place.mark_written();
}

// Begins the sum of a round, if there is one, before the gradients of this process's batch overwrite the slots. Returns whether
// there is.
bool SharedBatches::begin_sum(const RoundOfUpdate& round) {
  using Result = OrderedSum::Result;
  if (!by_process_) {
    if (!round.begins_update && in_slots_) sum_.begin_from_numbers();
    const Result wanted = sharded_ ? Result::kOwners : Result::kAll;
    sum_.begin({round.first, round.last, round.begins_update, round.is_wanted ? wanted : Result::kNowhere});
    return true;
  }
  // Every process has the sum of the earlier batches; process 0 contributes it.
  if (round.begins_update || in_slots_) has_own_ = !round.begins_update && share_.rank == 0;
  if (round.is_wanted) {
    sum_.begin({0, share_.processes - 1, true, sharded_ && round.ends_update ? Result::kOwners : Result::kAll, true});
  }
  return round.is_wanted;
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

  const bool takes_part = first <= me && me <= last;
  const std::optional<Batch> batch = takes_part ? source_.next() : std::nullopt;
  GRAPHRUN_CHECK(!takes_part || (batch && batch->position.batch == begin + me - first), "a round's batch is another");
  if (before_update_ && number_in_update(end) == 0) before_update_(me == last ? &*batch : nullptr, last, accumulate_ - 1);

  bring_slots();
  const bool ends_update = end == all || number_in_update(end) == 0;
  const bool is_summed = begin_sum({first, last, of_update == 0, ends_update, is_wanted});
  const auto ready = [&](std::size_t slots) {
    if (is_summed) sum_.ready(begins_[slots]);
  };
  RoundFigures own;
  own.signal = signal;
  if (batch) {
    const BatchFigures figures =
        stepper_.gradients(*batch, step, of_update + me - first, std::exchange(has_own_, by_process_), ready);
    own = {figures.loss, figures.per, batch->rows, batch->tokens, signal};
    bring_slots();
  } else if (by_process_ && is_summed && !has_own_) {
    clear_slots();
  }
  ready(slots_.size());
  std::vector<RoundFigures> figures(static_cast<std::size_t>(together_.size()));
  const double computed = seconds_now();
  together_.share(&own, sizeof own, figures.data());
  const double shared = seconds_now();
  if (is_summed) sum_.finish();
  if (is_wanted) mark_slots_written();
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

void SharedBatches::bring_sums() {
  if (!sharded_) return;
  sum_.hand_out(sum_.numbers());
  for (const Tensor& place : places_) place.mark_written();
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
