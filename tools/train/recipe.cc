#include "tools/train/recipe.h"

#include <algorithm>

#include "tools/job/data_spec.h"
#include "tools/job/defaults.h"
#include "tools/job/problems.h"

namespace graphrun {
namespace {

namespace pb = google::protobuf;

InitializeRule make_initialize(const Job::Initialize& message, const Places& places, const std::string& folder) {
  using Init = VariableSpec::Init;
  InitializeRule rule;
  rule.match = {message.match(), places.location("match")};
  const double gain = message.has_gain() ? message.gain() : 1;
  switch (message.kind_case()) {
    case Job::Initialize::kUniform: rule.init = Init::kUniform, rule.amount = message.uniform(); break;
    case Job::Initialize::kNormal: rule.init = Init::kNormal, rule.amount = message.normal(); break;
    case Job::Initialize::kOrthogonal: rule.init = Init::kOrthogonal, rule.amount = gain; break;
    case Job::Initialize::kXavier: rule.init = Init::kXavier, rule.amount = gain; break;
    case Job::Initialize::kVectors:
      rule.vectors = path_in(folder, message.vectors());
      rule.field = message.field();
      rule.lowercase = message.lowercase();
      rule.vectors_at = places.location("vectors");
      break;
    default: rule.init = Init::kConstant, rule.amount = message.constant(); break;
  }
  return rule;
}

std::vector<NamePattern> read_patterns(const pb::RepeatedPtrField<std::string>& texts, const Places& places,
                                       const char* field) {
  std::vector<NamePattern> patterns;
  for (int i = 0; i < texts.size(); ++i) patterns.push_back({texts[i], places.location(field, static_cast<std::size_t>(i))});
  return patterns;
}

// The name of the optimizer is that of its operator, and its fields are the operator's attributes.
void read_optimizer(const Job::Optimizer& message, const Places& places, Recipe& recipe) {
  const pb::FieldDescriptor* kind =
      message.GetReflection()->GetOneofFieldDescriptor(message, message.GetDescriptor()->FindOneofByName("kind"));
  recipe.options.optimizer = kind->name();
  const pb::Message& settings = message.GetReflection()->GetMessage(message, kind);
  std::vector<const pb::FieldDescriptor*> given;
  settings.GetReflection()->ListFields(settings, &given);
  auto& attributes = recipe.options.attributes;
  for (const pb::FieldDescriptor* field : given) {
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_BOOL) {
      attributes.emplace_back(field->name(), settings.GetReflection()->GetBool(settings, field));
    } else if (field->name() == "learning_rate") {
      recipe.learning_rate = settings.GetReflection()->GetDouble(settings, field);
    } else {
      attributes.emplace_back(field->name(), settings.GetReflection()->GetDouble(settings, field));
    }
  }
  if (message.l2() > 0) attributes.emplace_back("l2", message.l2());
  if (message.weight_decay() > 0) attributes.emplace_back("weight_decay", message.weight_decay());
  recipe.no_decay = read_patterns(message.no_decay(), places, "no_decay");
  for (int i = 0; i < message.group_size(); ++i) {
    const Location at = inside(places, "group", static_cast<std::size_t>(i)).location("match");
    recipe.groups.push_back({{message.group(i).match(), at}, message.group(i).factor()});
  }
}

ScheduleRule schedule_of(const Job::Schedule& message) {
  using Kind = ScheduleRule::Kind;
  ScheduleRule rule;
  rule.warmup = message.warmup_steps();
  rule.least = message.least();
  if (message.has_per_epoch()) {
    rule.kind = Kind::kPerEpoch;
    rule.factor = message.per_epoch().factor();
    rule.from = std::max(1, message.per_epoch().from());
  } else if (message.has_no_improvement()) {
    const Job::NoImprovement& from = message.no_improvement();
    rule.kind = Kind::kNoImprovement;
    rule.factor = from.factor();
    rule.patience = std::max(1, from.patience());
    rule.margin = from.margin(), rule.margin_of_rate = from.margin_of_rate();
    rule.decays = from.decays();
    rule.restart = from.restart();
  } else if (message.has_inverse_square_root()) {
    rule.kind = Kind::kInverseSquareRoot;
  } else if (message.has_cosine()) {
    rule.kind = Kind::kCosine;
    rule.steps = message.cosine().steps();
  } else if (message.has_gnmt_plus()) {
    const Job::GnmtPlus& from = message.gnmt_plus();
    rule.kind = Kind::kGnmtPlus;
    rule.times = from.times(), rule.gnmt_warmup = from.warmup();
    rule.decay_from = from.decay_from(), rule.decay_to = from.decay_to();
  }
  return rule;
}

ValidateRule read_validate(const Job::Validate& message, const Places& places) {
  if (message.every_steps() > 0) return {0, message.every_steps(), 0, places.location("every_steps")};
  if (message.times_per_epoch() > 0) return {0, 0, message.times_per_epoch(), places.location("times_per_epoch")};
  return {std::max(1, message.every_epochs()), 0, 0, places.location("every_epochs")};
}

}  // namespace

Recipe make_recipe(const LoadedJob& job) {
  const Job::Train& train = job.message.train();
  const Places& places = inside(job.places, "train");
  Recipe recipe;
  recipe.minimize = places.text("minimize"), recipe.per = places.text("per");
  recipe.parts = job.data.parts;
  recipe.accumulate = std::max(1, train.accumulate()) * recipe.parts;
  recipe.sums_by_process = train.sum() == Job::BY_PROCESS;
  recipe.shards_optimizer = train.shard_optimizer();
  recipe.options.clip_global_norm = train.clip().global_norm();
  recipe.options.moving_average = train.moving_average().decay();
  read_optimizer(train.optimizer(), inside(places, "optimizer"), recipe);
  for (int i = 0; i < train.initialize_size(); ++i) {
    const Places& rule = inside(places, "initialize", static_cast<std::size_t>(i));
    recipe.initialize.push_back(make_initialize(train.initialize(i), rule, job.folder));
  }
  for (int i = 0; i < train.start_size(); ++i) {
    const Places& at = inside(places, "start", static_cast<std::size_t>(i));
    const Job::Start& start = train.start(i);
    recipe.start.push_back(
        {path_in(job.folder, start.model()), read_patterns(start.match(), at, "match"), start.partial(), at.location("model")});
  }
  recipe.freeze = read_patterns(train.freeze(), places, "freeze");
  recipe.schedule = schedule_of(train.schedule());
  recipe.end = {train.epochs(), train.updates(), train.hours()};
  recipe.seed = train.seed();
  recipe.validate = read_validate(train.validate(), inside(places, "validate"));
  recipe.keep_highest = train.validate().keep_lowest().empty();
  recipe.keep = recipe.keep_highest ? train.validate().keep_highest() : train.validate().keep_lowest();
  recipe.stop = {train.stop().patience(), train.stop().margin()};
  recipe.average = {train.average().has_best() ? train.average().best() : train.average().last(), train.average().has_best()};
  // The same as in fill_defaults, because folders of older programs lack them.
  const Job::Checkpoint& checkpoint = train.checkpoint();
  recipe.metrics_every_steps = train.metrics().every_steps() > 0 ? train.metrics().every_steps() : kMetricsEverySteps;
  recipe.watch = {read_patterns(train.watch().match(), inside(places, "watch"), "match"),
                  train.watch().every_steps() > 0 ? train.watch().every_steps() : kWatchEverySteps};
  recipe.checkpoint = {checkpoint.every_steps(), checkpoint.every_minutes(),
                       checkpoint.keep() > 0 ? checkpoint.keep() : kKeptCheckpoints};
  return recipe;
}

}  // namespace graphrun
