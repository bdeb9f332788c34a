#include "tools/train/recipe.h"

#include <algorithm>

#include "tools/job/problems.h"

namespace graphrun {
namespace {

InitializeRule make_rule(const Job::Initialize& message, const Location& at) {
  using Init = VariableSpec::Init;
  InitializeRule rule;
  rule.match = message.match();
  rule.at = at;
  switch (message.kind_case()) {
    case Job::Initialize::kUniform: rule.init = Init::kUniform, rule.amount = message.uniform(); break;
    case Job::Initialize::kNormal: rule.init = Init::kNormal, rule.amount = message.normal(); break;
    case Job::Initialize::kOrthogonal: rule.init = Init::kOrthogonal; break;
    case Job::Initialize::kXavier: rule.init = Init::kXavier; break;
    default: rule.init = Init::kConstant, rule.amount = message.constant(); break;
  }
  return rule;
}

void read_optimizer(const Job::Optimizer& message, Recipe& recipe) {
  if (message.has_adam()) {
    const Job::Adam& adam = message.adam();
    recipe.options.optimizer = TrainOptions::Optimizer::kAdam;
    recipe.learning_rate = adam.learning_rate();
    if (adam.has_beta1()) recipe.options.beta1 = adam.beta1();
    if (adam.has_beta2()) recipe.options.beta2 = adam.beta2();
    if (adam.has_epsilon()) recipe.options.epsilon = adam.epsilon();
  } else {
    recipe.options.optimizer = TrainOptions::Optimizer::kSgd;
    recipe.learning_rate = message.sgd().learning_rate();
  }
}

ScheduleRule read_schedule(const Job::Schedule& message) {
  ScheduleRule rule;
  if (message.has_per_epoch()) {
    rule = {ScheduleRule::Kind::kPerEpoch, message.per_epoch().factor(), std::max(1, message.per_epoch().from())};
  } else if (message.has_no_improvement()) {
    rule = {ScheduleRule::Kind::kNoImprovement, message.no_improvement().factor(), 1};
  }
  return rule;
}

}  // namespace

Recipe make_recipe(const LoadedJob& job) {
  const Job::Train& train = job.message.train();
  const Places& places = inside(job.places, "train");
  Recipe recipe;
  recipe.options.minimize = train.minimize();
  recipe.options.clip_global_norm = train.clip().global_norm();
  read_optimizer(train.optimizer(), recipe);
  for (int i = 0; i < train.initialize_size(); ++i) {
    const Places& rule = inside(places, "initialize", static_cast<std::size_t>(i));
    recipe.initialize.push_back(make_rule(train.initialize(i), rule.location("match")));
  }
  recipe.schedule = read_schedule(train.schedule());
  recipe.epochs = train.epochs();
  recipe.seed = train.seed();
  recipe.validate_every = std::max(1, train.validate().every_epochs());
  recipe.keep_highest = train.validate().keep_lowest().empty();
  recipe.keep = recipe.keep_highest ? train.validate().keep_highest() : train.validate().keep_lowest();
  recipe.checkpoint_every_steps = train.checkpoint().every_steps();
  return recipe;
}

}  // namespace graphrun
