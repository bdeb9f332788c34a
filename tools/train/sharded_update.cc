#include "tools/train/sharded_update.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "compiler/compile.h"
#include "ops/optimizer/norm.h"
#include "ops/optimizer/update.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

static_assert(ShardedUpdate::kUnit % static_cast<std::size_t>(kNormPiece) == 0);

std::size_t pieces_of(std::size_t elements) {
  return static_cast<std::size_t>(norm_pieces(static_cast<std::int64_t>(elements)));
}

}  // namespace

ShardedUpdate::ShardedUpdate(Communicator& together, Stepper& stepper, OrderedSum& gradients,
                             const std::vector<std::string>& names, const std::vector<std::size_t>& begins)
    : together_(together),
      stepper_(stepper),
      gradients_(gradients),
      parameters_(DType::kFloat32, gradients.numbers().sizes()),
      endings_(slot_endings(stepper.options())) {
  for (const std::string& name : stepper.trained()) all_.push_back(divided(name, name + kGradientSlot, names, begins));
  if (!stepper.options().per.empty()) per_ = divided(kPerSlot, kPerSlot, names, begins);
  std::vector<ParameterSlice> slices;
  for (const Divided& parameter : all_) {
    for (const SliceRange& range : own(parameter)) slices.push_back(slice_of(parameter, range));
  }
  program_ = stepper.update_of(slices, slices_);
  for (const Divided& parameter : all_) {
    for (const SliceRange& range : own(parameter)) {
      const auto begin = static_cast<std::int64_t>(parameter.begin + range.begin);
      slices_->set(name_of(parameter, range), Tensor::part_of(parameters_, begin, {static_cast<std::int64_t>(range.count)}));
      slices_->set(name_of(parameter, range) + kGradientSlot, sum_of(parameter, range));
    }
  }
  stepper.update_by([this](std::int64_t step, double learning_rate) { return update(step, learning_rate); },
                    [this](const std::string& name, const Tensor& slot) { take_slot(name, slot); });
  take();
}

ShardedUpdate::~ShardedUpdate() { stepper_.update_by(nullptr, nullptr); }

ShardedUpdate::Divided ShardedUpdate::divided(const std::string& name, const std::string& sum,
                                              const std::vector<std::string>& names,
                                              const std::vector<std::size_t>& begins) const {
  const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), sum) - names.begin());
  GRAPHRUN_CHECK(at < names.size() && begins[at] % kUnit == 0, "ShardedUpdate: '" + sum + "'");
  const Tensor& slot = stepper_.variables().at(sum);
  Divided divided{name, sum, slot.sizes(), begins[at], static_cast<std::size_t>(slot.count()), {}};
  for (int rank = 0; rank < together_.size(); ++rank) {
    std::vector<SliceRange>& ranges = divided.ranges.emplace_back();
    for (const auto& [begin, end] : gradients_.owned(rank)) {
      const std::size_t from = std::max(begin, divided.begin), to = std::min(end, divided.begin + divided.count);
      if (from < to) ranges.push_back({from - divided.begin, to - from});
    }
  }
  return divided;
}

ParameterSlice ShardedUpdate::slice_of(const Divided& divided, const SliceRange& range) {
  return {divided.name, static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.count)};
}

void ShardedUpdate::for_slots(const std::function<void(const Divided&, const std::string&)>& act) const {
  for (const Divided& parameter : all_) {
    for (const std::string& ending : endings_) act(parameter, ending);
    act(parameter, kGradientSlot);
  }
  if (per_) act(*per_, "");
}

Tensor ShardedUpdate::sum_of(const Divided& divided, const SliceRange& range) const {
  const auto begin = static_cast<std::int64_t>(divided.begin + range.begin);
  return Tensor::part_of(gradients_.numbers(), begin, {static_cast<std::int64_t>(range.count)});
}

void ShardedUpdate::take() {
  Variables& variables = stepper_.variables();
  for (const Divided& parameter : all_) {
    const Tensor place = Tensor::part_of(parameters_, static_cast<std::int64_t>(parameter.begin), parameter.sizes);
    const Tensor before = variables.at(parameter.name);
    if (before.raw() == place.raw()) continue;
    std::copy_n(before.data<float>(), before.count(), place.data<float>());
    variables.set(parameter.name, place);
  }
  for (const Divided& parameter : all_) {
    for (const std::string& ending : endings_) {
      const std::string slot = parameter.name + ending;
      if (!variables.has(slot)) continue;
      take_slot(slot, variables.at(slot));
      variables.erase(slot);
    }
  }
  malloc_trim(0);  // otherwise the process keeps the memory of whole slots
}

void ShardedUpdate::take_slot(const std::string& name, const Tensor& slot) {
  for_slots([&](const Divided& divided, const std::string& ending) {
    if (name != divided.name + ending) return;
    for (const auto& [of_slice, slice] : cut_one(divided, ending, slot)) slices_->set(of_slice, slice);
  });
}

NamedTensors ShardedUpdate::own() const {
  NamedTensors slots;
  for_slots([&](const Divided& divided, const std::string& ending) {
    for (const SliceRange& range : own(divided)) {
      const std::string name = name_of(divided, range) + ending;
      const bool is_sum = divided.name + ending == divided.sum;
      slots[name] = is_sum ? sum_of(divided, range) : slices_->at(name);
    }
  });
  return slots;
}

// Copies of this process's slices of a slot.
NamedTensors ShardedUpdate::cut_one(const Divided& divided, const std::string& ending, const Tensor& whole) const {
  NamedTensors slices;
  for (const SliceRange& range : own(divided)) {
    Tensor slice = Tensor::uninitialized(DType::kFloat32, {static_cast<std::int64_t>(range.count)});
    std::copy_n(whole.data<float>() + range.begin, range.count, slice.data<float>());
    slices[name_of(divided, range) + ending] = std::move(slice);
  }
  return slices;
}

NamedTensors ShardedUpdate::cut(const NamedTensors& whole) const {
  NamedTensors slots;
  for_slots([&](const Divided& divided, const std::string& ending) {
    slots.merge(cut_one(divided, ending, whole.at(divided.name + ending)));
  });
  return slots;
}

void ShardedUpdate::set(const NamedTensors& slices) {
  for (const auto& [name, place] : own()) {
    const Tensor& slice = slices.at(name);
    std::copy_n(slice.data<float>(), slice.count(), place.data<float>());
    place.mark_written();
  }
}

// The norm of all gradients before they are divided, by the pieces and in the order of global_norm; also sets their divisor.
double ShardedUpdate::norm() {
  std::vector<double> sent = {0};
  if (per_ && !own(*per_).empty()) sent[0] = static_cast<double>(*sum_of(*per_, own(*per_)[0]).data<float>());
  for (const Divided& parameter : all_) {
    for (const SliceRange& range : own(parameter)) {
      const float* const numbers = sum_of(parameter, range).data<float>();
      const std::size_t first = sent.size(), pieces = pieces_of(range.count);
      sent.resize(first + pieces);
      parallel_ranges(static_cast<std::int64_t>(pieces), 8, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const std::size_t at = i * static_cast<std::size_t>(kNormPiece);
          sent[first + i] = sum_of_squares(numbers + at, std::min(static_cast<std::size_t>(kNormPiece), range.count - at));
        }
      });
    }
  }
  const std::vector<std::string> all =
      together_.gather({reinterpret_cast<const char*>(sent.data()), sent.size() * sizeof(double)});
  const auto number = [&all](std::size_t rank, std::size_t i) {
    double number = 0;
    std::memcpy(&number, all[rank].data() + i * sizeof number, sizeof number);
    return number;
  };
  if (per_) {
    double per = 0;
    for (std::size_t rank = 0; rank < all.size(); ++rank) per += number(rank, 0);  // one of them has it
    slices_->set(kPerSlot, Tensor::of<float>({}, {static_cast<float>(per)}));
  }
  std::vector<double> sums;
  std::vector<std::size_t> next(all.size(), 1);
  for (const Divided& parameter : all_) {
    const std::size_t first = sums.size();
    sums.resize(first + pieces_of(parameter.count));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      for (const SliceRange& range : parameter.ranges[rank]) {
        const std::size_t at = first + range.begin / static_cast<std::size_t>(kNormPiece);
        for (std::size_t i = 0; i < pieces_of(range.count); ++i) sums[at + i] = number(rank, next[rank]++);
      }
    }
  }
  return norm_of_pieces(sums);
}

double ShardedUpdate::update(std::int64_t step, double learning_rate) {
  for (const Divided& parameter : all_) {
    for (const SliceRange& range : own(parameter)) {
      slices_->at(name_of(parameter, range) + kGradientSlot).mark_written();
    }
  }
  const double of_all = norm();
  Feeds feeds;
  for (const FeedSpec& feed : program_->program().feeds) {
    const double value = feed.name == kLearningRate  ? learning_rate
                         : feed.name == kUpdateCount ? static_cast<double>(step + 1)
                                                     : of_all;
    feeds[feed.name] = Tensor::of<double>({}, {value});
  }
  const double divided = program_->run(feeds)[0].at(0);
  gradients_.hand_out(parameters_);
  for (const Divided& parameter : all_) stepper_.variables().at(parameter.name).mark_written();
  return divided;
}

std::string ShardedUpdate::bytes_of(const Divided& divided, const std::string& ending, const NamedTensors& slices) const {
  std::string bytes;
  for (const SliceRange& range : own(divided)) {
    const Tensor& slice = slices.at(name_of(divided, range) + ending);
    bytes.append(reinterpret_cast<const char*>(slice.raw()), slice.bytes());
  }
  return bytes;
}

Tensor ShardedUpdate::joined(const Divided& divided, const std::string& ending, const NamedTensors& slices,
                             const std::vector<std::string>& parts) const {
  Tensor whole = Tensor::uninitialized(DType::kFloat32, divided.sizes);
  for (int rank = 0; rank < together_.size(); ++rank) {
    const auto of = static_cast<std::size_t>(rank);
    std::size_t at = 0;
    for (const SliceRange& range : divided.ranges[of]) {
      const std::size_t bytes = range.count * sizeof(float);
      const void* const from =
          rank == together_.rank() ? slices.at(name_of(divided, range) + ending).raw() : parts[of].data() + at;
      std::memcpy(whole.data<float>() + range.begin, from, bytes);
      at += bytes;
    }
  }
  return whole;
}

void ShardedUpdate::average(NamedTensors& parameters) {
  const NamedTensors slots = own();
  for (const Divided& parameter : all_) {
    parameters[parameter.name] =
        joined(parameter, kAverageSlot, slots, together_.gather(bytes_of(parameter, kAverageSlot, slots)));
  }
}

void ShardedUpdate::save(Checkpoint& checkpoint, const std::vector<std::string>& are_slices,
                         const std::function<void()>& save) {
  // Process 0 asks for each slot by its group and name; an empty request is the end.
  const auto request = [](const std::string& group, const std::string& name) { return group + "/" + name; };
  std::map<std::string, std::function<std::string()>> parts;  // by request
  for (const std::string& group : are_slices) {
    const auto found = checkpoint.groups.find(group);
    if (found == checkpoint.groups.end()) continue;
    const auto slices = std::make_shared<const NamedTensors>(std::move(found->second));
    checkpoint.groups.erase(found);
    for_slots([&](const Divided& divided, const std::string& ending) {
      const std::string name = divided.name + ending, asks = request(group, name);
      parts[asks] = [this, &divided, ending, slices] { return bytes_of(divided, ending, *slices); };
      checkpoint.sources[group][name] = {DType::kFloat32, divided.sizes, [this, &divided, asks, ending, slices] {
                                           together_.broadcast(asks);
                                           return joined(divided, ending, *slices, together_.collect(""));
                                         }};
    });
  }
  if (together_.rank() == 0) {
    save();
    together_.broadcast("");
    return;
  }
  for (std::string asks; !(asks = together_.broadcast("")).empty();) together_.collect(parts.at(asks)());
}

}  // namespace graphrun
