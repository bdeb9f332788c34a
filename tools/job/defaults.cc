#include "tools/job/defaults.h"

#include <algorithm>

#include "compiler/ir/op.h"

namespace graphrun {
namespace {

namespace pb = google::protobuf;

void fill_optimizer(Job::Optimizer& optimizer) {
  const pb::Reflection& reflection = *optimizer.GetReflection();
  const pb::FieldDescriptor* kind =
      reflection.GetOneofFieldDescriptor(optimizer, optimizer.GetDescriptor()->FindOneofByName("kind"));
  if (kind == nullptr) return;
  pb::Message& settings = *reflection.MutableMessage(&optimizer, kind);
  const ir::OpSchema& op = ir::OpRegistry::instance().get(kind->name() + "_update");
  for (int i = 0; i < settings.GetDescriptor()->field_count(); ++i) {
    const pb::FieldDescriptor* field = settings.GetDescriptor()->field(i);
    const ir::AttributeSpec* attribute = op.attribute(field->name());
    if (attribute == nullptr || !field->has_presence() || settings.GetReflection()->HasField(settings, field)) continue;
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_BOOL) {
      settings.GetReflection()->SetBool(&settings, field, std::get<bool>(*attribute->default_value));
    } else {
      settings.GetReflection()->SetDouble(&settings, field, std::get<double>(*attribute->default_value));
    }
  }
}

void fill_schedule(Job::Schedule& schedule) {
  if (schedule.has_per_epoch()) schedule.mutable_per_epoch()->set_from(std::max(1, schedule.per_epoch().from()));
  if (schedule.has_no_improvement()) {
    schedule.mutable_no_improvement()->set_patience(std::max(1, schedule.no_improvement().patience()));
  }
}

}  // namespace

void fill_defaults(Job& job) {
  if (job.data().format() == Job::Data::STREAM && job.data().end_of_line().empty()) {
    job.mutable_data()->set_end_of_line("<eos>");
  }
  if (job.data().batch().parts() == 1) job.mutable_data()->mutable_batch()->clear_parts();
  if (!job.has_train()) return;
  Job::Train& train = *job.mutable_train();
  train.set_accumulate(std::max(1, train.accumulate()));
  if (train.has_optimizer()) fill_optimizer(*train.mutable_optimizer());
  if (train.has_schedule()) fill_schedule(*train.mutable_schedule());
  if (train.metrics().every_steps() == 0) train.mutable_metrics()->set_every_steps(kMetricsEverySteps);
  if (train.has_watch() && train.watch().every_steps() == 0) train.mutable_watch()->set_every_steps(kWatchEverySteps);
  if (train.checkpoint().keep() == 0) train.mutable_checkpoint()->set_keep(kKeptCheckpoints);
  if (job.data().valid_size() == 0) return;
  Job::Validate& validate = *train.mutable_validate();
  if (validate.every_steps() == 0 && validate.times_per_epoch() == 0) {
    validate.set_every_epochs(std::max(1, validate.every_epochs()));
  }
}

}  // namespace graphrun
