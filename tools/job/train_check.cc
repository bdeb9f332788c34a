#include "tools/job/train_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/compile.h"
#include "compiler/ir/expression.h"
#include "compiler/ir/op.h"
#include "tools/job/problems.h"

namespace graphrun {
namespace {

namespace pb = google::protobuf;

class TrainChecker {
 public:
  TrainChecker(const LoadedJob& job, const std::vector<std::string>& reports, std::vector<Diagnostic>& diagnostics)
      : job_(job),
        train_(job.message.train()),
        places_(inside(job.places, "train")),
        reports_(reports),
        diagnostics_(diagnostics),
        problems_(diagnostics) {}

  void check() {
    check_objective();
    count("epochs", train_.epochs());
    count("updates", train_.updates());
    not_negative(places_, "hours", train_.hours());
    for (int i = 0; i < train_.initialize_size(); ++i) {
      check_initialize(train_.initialize(i), inside(places_, "initialize", static_cast<std::size_t>(i)));
    }
    for (int i = 0; i < train_.start_size(); ++i) {
      const Places& at = inside(places_, "start", static_cast<std::size_t>(i));
      if (train_.start(i).model().empty()) {
        problems_.missing(at.at, "start without a model", "model: the folder of a trained one");
      }
    }
    if (train_.has_optimizer()) check_optimizer(train_.optimizer(), inside(places_, "optimizer"));
    if (train_.has_clip() && !(train_.clip().global_norm() >= 0)) {  // 0: no clipping
      positive(inside(places_, "clip"), "global_norm", train_.clip().global_norm());
    }
    if (train_.has_schedule()) check_schedule(train_.schedule(), inside(places_, "schedule"));
    if (train_.has_moving_average()) check_moving_average();
    if (train_.has_validate()) check_validate(train_.validate(), inside(places_, "validate"));
    if (train_.has_stop()) check_stop();
    if (train_.has_average()) check_average();
    if (train_.metrics().every_steps() < 0) {
      problems_.bad(inside(places_, "metrics").location("every_steps"),
                    fmt::format("{} updates; expected 1 or more", train_.metrics().every_steps()));
    }
    if (train_.has_watch()) check_watch(train_.watch(), inside(places_, "watch"));
    if (train_.has_checkpoint()) check_checkpoint(train_.checkpoint(), inside(places_, "checkpoint"));
  }

 private:
  // Runs `parse`; errors that it throws are added to the problems.
  template <class Parse>
  void gather(const Parse& parse) {
    try {
      parse();
    } catch (const UserError& error) {
      diagnostics_.insert(diagnostics_.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }

  void positive(const Places& places, const std::string& what, double value) {
    problems_.bad(places.location(what), fmt::format("{} is {}; expected a finite number above 0", what, value));
  }
  void not_negative(const Places& places, const std::string& what, double value) {
    if (!(value >= 0 && std::isfinite(value))) {
      problems_.bad(places.location(what), fmt::format("{} is {}; expected a finite number from 0", what, value));
    }
  }
  // Checks a count in `train`, where 0 means that it is absent.
  void count(const std::string& what, int value) {
    if (value < 0) problems_.bad(places_.location(what), fmt::format("{} {}; expected 1 or more", value, what));
  }
  bool keeps() const { return !train_.validate().keep_highest().empty() || !train_.validate().keep_lowest().empty(); }
  void needs_kept(const Places& places, const std::string& what) {
    if (!keeps()) {
      problems_.missing(places.at, what + " needs a report to watch", "train.validate.keep_lowest or keep_highest names it");
    }
  }

  void check_objective() {
    if (!train_.minimize().empty()) gather([&] { ir::parse_expression(places_.text("minimize")); });
    if (!train_.per().empty()) gather([&] { ir::parse_expression(places_.text("per")); });
    count("accumulate", train_.accumulate());
    const bool has_parts = job_.message.data().batch().parts() > 1;
    if ((train_.accumulate() > 1 || has_parts) && train_.per().empty()) {
      problems_.missing(
          has_parts ? inside(inside(job_.places, "data"), "batch").location("parts") : places_.location("accumulate"),
          "the gradients of several batches are summed: by what is the sum divided?",
          "per: \"1\" is the number of batches, per: \"batch\" that of their rows");
    }
  }

  void check_watch(const Job::Watch& watch, const Places& places) {
    if (watch.match().empty()) {
      problems_.missing(places.at, "watch without match",
                        "match: \"decode.*\" is every parameter, state, sigmoid and tanh whose name begins so");
    }
    if (watch.every_steps() < 0) {
      problems_.bad(places.location("every_steps"), fmt::format("{} updates; expected 1 or more", watch.every_steps()));
    }
  }

  void check_initialize(const Job::Initialize& initialize, const Places& places) {
    using Kind = Job::Initialize;
    if (initialize.match().empty()) {
      problems_.missing(places.at, "initialize without match", "match: \"*\" is every parameter; * is any run of characters");
    }
    switch (initialize.kind_case()) {
      case Kind::KIND_NOT_SET: problems_.missing(places.at, "initialize without a kind", "uniform: 0.08, say"); break;
      case Kind::kUniform:
        if (!(initialize.uniform() >= 0 && std::isfinite(initialize.uniform()))) {
          problems_.bad(places.location("uniform"), "expected a range, a finite number from 0");
        }
        break;
      case Kind::kNormal:
        if (!(initialize.normal() >= 0 && std::isfinite(initialize.normal()))) {
          problems_.bad(places.location("normal"), "expected a deviation, a finite number from 0");
        }
        break;
      case Kind::kConstant:
        if (!std::isfinite(initialize.constant())) problems_.bad(places.location("constant"), "expected a finite number");
        break;
      case Kind::kOrthogonal:
      case Kind::kXavier:
        if (!(initialize.kind_case() == Kind::kXavier ? initialize.xavier() : initialize.orthogonal())) {
          problems_.bad(places.at, "expected true; another kind goes by its own name");
        }
        break;
      case Kind::kVectors: check_vectors(initialize, places); break;
    }
    if (initialize.has_gain()) check_gain(initialize, places);
    if (initialize.kind_case() == Kind::kVectors) return;
    if (!initialize.field().empty()) problems_.bad(places.location("field"), "only vectors are of a field");
    if (initialize.lowercase()) problems_.bad(places.location("lowercase"), "only words that look for vectors have a case");
  }

  void check_gain(const Job::Initialize& initialize, const Places& places) {
    const Location at = places.location("gain");
    if (!initialize.has_orthogonal() && !initialize.has_xavier()) {
      problems_.bad(at, "only orthogonal and xavier have a gain");
    } else if (!(initialize.gain() > 0 && std::isfinite(initialize.gain()))) {
      problems_.bad(at, fmt::format("gain is {}; expected a finite number above 0", initialize.gain()));
    }
  }

  void check_vectors(const Job::Initialize& initialize, const Places& places) {
    std::vector<std::string> fields;
    for (const FieldSpec& field : job_.data.fields) fields.push_back(field.name);
    if (initialize.field().empty()) {
      problems_.missing(places.location("vectors"), "vectors of which words?", "field: the field whose vocabulary has them");
    } else if (const FieldSpec* field = job_.data.field(initialize.field()); field == nullptr) {
      problems_.unknown(places.location("field"), "field", initialize.field(), fields);
    } else if (field->numbers) {
      problems_.bad(places.location("field"), fmt::format("field '{}' holds numbers, and so has no words", field->name));
    }
  }

  void check_group(const Job::Group& group, const Places& places) {
    if (group.match().empty()) {
      problems_.missing(places.at, "a group of which parameters?", "match: \"E\"; * is any run of characters");
    }
    const double factor = group.factor();
    if (places.fields.count("factor") == 0) {
      problems_.missing(places.at, "a group without factor", "factor: 0.1 is a tenth of the learning rate");
    } else if (!(factor > 0 && std::isfinite(factor))) {
      problems_.bad(places.location("factor"), fmt::format("factor is {}; expected a number above 0", factor),
                    factor == 0 ? "train { freeze: \"PATTERN\" } keeps parameters as they begin" : "");
    }
  }

  // The settings of an optimizer are the attributes of its op; the schema has their ranges.
  void check_optimizer(const Job::Optimizer& optimizer, const Places& places) {
    const pb::Reflection& reflection = *optimizer.GetReflection();
    not_negative(places, "l2", optimizer.l2());
    not_negative(places, "weight_decay", optimizer.weight_decay());
    const pb::FieldDescriptor* kind =
        reflection.GetOneofFieldDescriptor(optimizer, optimizer.GetDescriptor()->FindOneofByName("kind"));
    if (kind == nullptr) {
      return problems_.missing(places.at, "an optimizer without a kind",
                               "sgd { learning_rate: 0.6 } or adam { learning_rate: 5e-4 }");
    }
    for (int i = 0; i < optimizer.group_size(); ++i) {
      check_group(optimizer.group(i), inside(places, "group", static_cast<std::size_t>(i)));
    }
    if (train_.shard_optimizer() && !is_elementwise(kind->name())) {
      problems_.bad(
          places_.location("shard_optimizer"),
          fmt::format("{} cannot be sharded: its step for an element depends on other elements of the parameter", kind->name()),
          "every process must update whole parameters: remove shard_optimizer, or choose another optimizer");
    }
    const ir::OpSchema& op = ir::OpRegistry::instance().get(kind->name() + "_update");
    const pb::Message& settings = reflection.GetMessage(optimizer, kind);
    const Places& at = inside(places, kind->name());
    for (int i = 0; i < settings.GetDescriptor()->field_count(); ++i) {
      const pb::FieldDescriptor* field = settings.GetDescriptor()->field(i);
      const std::string& name = field->name();
      if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_DOUBLE) continue;
      const double value = settings.GetReflection()->GetDouble(settings, field);
      const bool given = !field->has_presence() || settings.GetReflection()->HasField(settings, field);
      if (!given) continue;
      const ir::AttributeSpec* attribute = op.attribute(name);  // null for the learning rate
      const ir::Range range = attribute == nullptr ? ir::Range::kPositive : attribute->range;
      if (attribute == nullptr && at.fields.count(name) == 0) {
        // A setting of another optimizer in --set replaces the job's optimizer.
        problems_.bad(at.location(name), fmt::format("{} has no {}", kind->name(), name),
                      fmt::format("{} {{ {}: NUMBER }}, or --set train.optimizer.{}.{}=NUMBER together with its other settings",
                                  kind->name(), name, kind->name(), name));
        continue;
      }
      if (!ir::is_within(range, value)) {
        problems_.bad(at.location(name), fmt::format("{} is {}; expected {}", name, value, ir::expected_of(range)));
      }
    }
  }

  void check_schedule(const Job::Schedule& schedule, const Places& places) {
    using Kind = Job::Schedule;
    if (schedule.warmup_steps() < 0) {
      problems_.bad(places.location("warmup_steps"), fmt::format("{} updates; expected 0 or more", schedule.warmup_steps()));
    }
    not_negative(places, "least", schedule.least());
    switch (schedule.kind_case()) {
      case Kind::kPerEpoch: check_per_epoch(schedule.per_epoch(), inside(places, "per_epoch")); break;
      case Kind::kNoImprovement: check_no_improvement(schedule.no_improvement(), inside(places, "no_improvement")); break;
      case Kind::kInverseSquareRoot:
        if (schedule.warmup_steps() == 0) {
          problems_.missing(places.location("inverse_square_root"), "inverse_square_root starts from the end of a warm-up",
                            "schedule { inverse_square_root {} warmup_steps: 4000 }");
        }
        break;
      case Kind::kCosine:
        if (schedule.cosine().steps() <= std::max(0, schedule.warmup_steps())) {
          problems_.bad(
              inside(places, "cosine").location("steps"),
              fmt::format("the cosine ends at update {}; expected an update after the warm-up", schedule.cosine().steps()));
        }
        break;
      case Kind::kGnmtPlus: check_gnmt_plus(schedule, inside(places, "gnmt_plus")); break;
      case Kind::KIND_NOT_SET:
        if (schedule.warmup_steps() == 0) {
          problems_.missing(places.at, "a schedule without a kind",
                            "per_epoch { factor: 0.5 from: 40 } or no_improvement { factor: 0.25 }");
        }
    }
  }

  void check_per_epoch(const Job::PerEpoch& rule, const Places& at) {
    if (!(rule.factor() > 0)) positive(at, "factor", rule.factor());
    if (rule.from() < 0) problems_.bad(at.location("from"), "epochs count from 1");
  }

  void check_no_improvement(const Job::NoImprovement& rule, const Places& at) {
    if (!(rule.factor() > 0 && rule.factor() <= 1)) {
      problems_.bad(at.location("factor"), fmt::format("factor is {}; expected a number above 0, at most 1", rule.factor()));
    }
    if (rule.patience() < 0) problems_.bad(at.location("patience"), "a negative number of validations");
    if (rule.decays() < 0) problems_.bad(at.location("decays"), "a negative number of decays; 0 is no end");
    not_negative(at, "margin", rule.margin());
    not_negative(at, "margin_of_rate", rule.margin_of_rate());
    needs_kept(at, "no_improvement");
  }

  void check_gnmt_plus(const Job::Schedule& schedule, const Places& at) {
    const Job::GnmtPlus& rule = schedule.gnmt_plus();
    if (!(rule.times() >= 1 && std::isfinite(rule.times()))) {
      problems_.bad(at.location("times"), fmt::format("times is {}; expected a number from 1", rule.times()));
    }
    if (rule.warmup() < 1) problems_.bad(at.location("warmup"), fmt::format("warmup is {}; expected 1 or more", rule.warmup()));
    if (rule.decay_from() < 0 || rule.decay_to() <= rule.decay_from()) {
      problems_.bad(at.location("decay_to"), fmt::format("the rate falls from {} to {}; expected the end after the beginning",
                                                         rule.decay_from(), rule.decay_to()));
    }
    if (schedule.warmup_steps() != 0) {
      problems_.bad(inside(places_, "schedule").location("warmup_steps"), "gnmt_plus has a warm-up of its own");
    }
  }

  void check_moving_average() {
    const Places& at = inside(places_, "moving_average");
    const double decay = train_.moving_average().decay();
    if (!(decay > 0 && decay < 1)) {
      problems_.bad(at.location("decay"), fmt::format("decay is {}; expected a number above 0 and below 1", decay));
    }
  }

  void check_validate(const Job::Validate& validate, const Places& places) {
    int ways = 0;
    const auto every = [&](const char* name, int value) {
      if (value < 0) problems_.bad(places.location(name), fmt::format("{} is negative", name));
      if (value != 0 && ++ways == 2) {
        problems_.bad(places.location(name), "every_epochs, every_steps, times_per_epoch: expected one of them");
      }
    };
    every("every_epochs", validate.every_epochs());
    every("every_steps", validate.every_steps());
    every("times_per_epoch", validate.times_per_epoch());
    if (job_.data.valid.empty()) {
      problems_.missing(places.at, "validate needs data to validate on", "data.valid names its files");
    }
    if (!validate.keep_highest().empty() && !validate.keep_lowest().empty()) {
      problems_.bad(places.location("keep_lowest"),
                    "keep_highest and keep_lowest: one checkpoint is kept; expected one of them");
    }
    const auto kept = [&](const char* setting, const std::string& name) {
      if (!name.empty() && std::find(reports_.begin(), reports_.end(), name) == reports_.end()) {
        problems_.unknown(places.location(setting), "report", name, reports_);
      }
    };
    kept("keep_highest", validate.keep_highest());
    kept("keep_lowest", validate.keep_lowest());
  }

  void check_stop() {
    const Places& at = inside(places_, "stop");
    if (train_.stop().patience() < 1) {
      problems_.bad(at.location("patience"), fmt::format("patience is {}; expected 1 or more", train_.stop().patience()));
    }
    not_negative(at, "margin", train_.stop().margin());
    needs_kept(at, "stop");
  }

  void check_average() {
    const Job::Average& average = train_.average();
    const Places& at = inside(places_, "average");
    const int number = average.has_best() ? average.best() : average.last();
    if (average.which_case() == Job::Average::WHICH_NOT_SET) {
      return problems_.missing(at.at, "an average of what?", "average { last: 5 } or average { best: 5 }");
    }
    if (number < 2) {
      problems_.bad(at.location(average.has_best() ? "best" : "last"),
                    fmt::format("an average of {}; expected 2 or more", number));
    }
    if (!train_.has_validate()) {
      problems_.missing(at.at, "an average needs validations", "train.validate sets when they happen");
    }
    if (average.has_best()) needs_kept(at, "an average of the best");
  }

  void check_checkpoint(const Job::Checkpoint& checkpoint, const Places& at) {
    if (checkpoint.every_steps() < 0) problems_.bad(at.location("every_steps"), "a negative number of steps; 0 means none");
    not_negative(at, "every_minutes", checkpoint.every_minutes());
    if (checkpoint.keep() < 0) {
      problems_.bad(at.location("keep"), fmt::format("{} checkpoints; expected 1 or more", checkpoint.keep()));
    }
  }

  const LoadedJob& job_;
  const Job::Train& train_;
  const Places& places_;
  const std::vector<std::string>& reports_;
  std::vector<Diagnostic>& diagnostics_;
  Problems problems_;
};

// Reports a `train` without an end, or with 0 for it.
void check_end(const Places& train, Problems& problems) {
  const std::string help = "epochs: 10, updates: 100000 or hours: 8; whichever comes first ends the run";
  bool said = false;
  for (const auto& [name, expected] : {std::pair("epochs", "1 or more"), {"updates", "1 or more"}, {"hours", "more"}}) {
    if (train.fields.count(name) == 0) continue;
    said = true;
    problems.bad(train.location(name), fmt::format("0 {}; expected {}", name, expected), help);
  }
  if (!said) problems.missing(train.at, "train has no end", help);
}

}  // namespace

void check_train(const LoadedJob& job, const std::vector<std::string>& reports, std::vector<Diagnostic>& diagnostics) {
  TrainChecker(job, reports, diagnostics).check();
}

void check_training(const LoadedJob& job, std::vector<Diagnostic>& diagnostics) {
  Problems problems(diagnostics);
  const Job::Train& train = job.message.train();
  if (!job.message.has_train()) return problems.missing(job.places.at, "the job has no train block", "train { … }");
  const Location at = inside(job.places, "train").at;
  if (train.minimize().empty()) {
    problems.missing(at, "train has no objective", "minimize: \"loss\", an output of the graph");
  }
  if (!train.has_optimizer()) problems.missing(at, "train has no optimizer", "optimizer { adam { learning_rate: 5e-4 } }");
  if (train.epochs() == 0 && train.updates() == 0 && train.hours() == 0) check_end(inside(job.places, "train"), problems);
  if (job.message.has_data() && job.data.train.empty()) {
    problems.missing(inside(job.places, "data").at, "data has no files to train on", "train: \"data/train.txt\"");
  }
}

}  // namespace graphrun
