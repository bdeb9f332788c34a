#include "tools/job/job_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tools/job/bindings.h"
#include "tools/job/problems.h"

namespace graphrun {
namespace {

constexpr int kVersion = 1;

class JobChecker {
 public:
  JobChecker(LoadedJob& job, std::vector<Diagnostic>& diagnostics)
      : job_(job), diagnostics_(diagnostics), problems_(diagnostics) {}

  void check() {
    const Job& job = job_.message;
    if (job.version() > kVersion)
      problems_.add("E0418 newer-version", job_.places.location("version"),
                    fmt::format("a job of version {}; this program knows versions up to {}", job.version(), kVersion));
    if (job.graph().empty()) problems_.missing(job_.places.at, "the job names no graph", "graph: \"tagger.pbtxt\", say");
    check_arguments();
    check_report();
    if (job.has_train()) check_train(job.train(), inside(job_.places, "train"));
    for (int i = 0; i < job.infer_size(); ++i)
      check_infer(job.infer(i), inside(job_.places, "infer", static_cast<std::size_t>(i)));
    check_unused();
  }

 private:
  std::vector<std::string> field_names() const {
    std::vector<std::string> names;
    for (const FieldSpec& field : job_.data.fields) names.push_back(field.name);
    return names;
  }

  // Runs `parse`; what it throws are problems.
  template <class Parse>
  void gather(const Parse& parse) {
    try {
      parse();
    } catch (const UserError& error) {
      diagnostics_.insert(diagnostics_.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  }

  void check_arguments() {
    std::set<std::string> names;
    for (int i = 0; i < job_.message.arg_size(); ++i) {
      const ir::SourceText text = job_.places.text("arg", static_cast<std::size_t>(i));
      for (const BindingText& binding : split_bindings(text)) {
        const Location at = binding.whole.at(0, std::max<std::size_t>(binding.whole.text.size(), 1));
        if (binding.name.empty() || binding.value.text.empty()) {
          problems_.missing(at, fmt::format("'{}' gives no argument a value; expected NAME = EXPRESSION", binding.whole.text));
          continue;
        }
        if (!names.insert(binding.name).second)
          problems_.twice(at, fmt::format("a second value for the argument '{}'", binding.name));
        gather([&] { check_vocabularies(ir::parse_expression(binding.value)); });
      }
    }
  }

  // vocabulary(field), anywhere in an expression.
  void check_vocabularies(const ir::Expression& e) {
    if (e.kind == ir::Expression::Kind::kCall && e.text == "vocabulary") {
      if (e.operands.size() != 1 || e.operands[0].kind != ir::Expression::Kind::kName)
        problems_.bad(e.at, "vocabulary takes a field's name: vocabulary(words)");
      else if (!job_.data.field(e.operands[0].dotted()))
        problems_.unknown(e.operands[0].at, "field", e.operands[0].dotted(), field_names());
    }
    for (const ir::Expression& operand : e.operands) check_vocabularies(operand);
    for (const auto& [name, value] : e.keywords) check_vocabularies(value);
  }

  void check_report() {
    for (int i = 0; i < job_.message.report_size(); ++i)
      gather([&] {
        for (ir::Binding& binding : ir::parse_bindings(job_.places.text("report", static_cast<std::size_t>(i))))
          job_.report.push_back(std::move(binding));
      });
    const Report report(job_.report, diagnostics_);
    report_names_ = report.result_names();
  }

  void check_train(const Job::Train& train, const Places& places) {
    if (train.epochs() < 0)
      problems_.bad(places.location("epochs"), fmt::format("{} epochs; expected 1 or more", train.epochs()));
    for (int i = 0; i < train.initialize_size(); ++i)
      check_initialize(train.initialize(i), inside(places, "initialize", static_cast<std::size_t>(i)));
    if (train.has_optimizer()) check_optimizer(train.optimizer(), inside(places, "optimizer"));
    if (train.has_clip() && !(train.clip().global_norm() >= 0))  // 0: none
      positive(inside(places, "clip"), "global_norm", train.clip().global_norm());
    if (train.has_schedule()) check_schedule(train, inside(places, "schedule"));
    if (train.has_validate()) check_validate(train.validate(), inside(places, "validate"));
    if (train.checkpoint().every_steps() < 0)
      problems_.bad(inside(places, "checkpoint").location("every_steps"), "a negative number of steps; 0 is none");
  }

  void positive(const Places& places, const std::string& what, double value) {
    problems_.bad(places.location(what), fmt::format("{} is {}; expected a number above 0", what, value));
  }

  void check_initialize(const Job::Initialize& initialize, const Places& places) {
    using Kind = Job::Initialize;
    if (initialize.match().empty())
      problems_.missing(places.at, "initialize without match", "match: \"*\" is every parameter; * is any run of characters");
    switch (initialize.kind_case()) {
      case Kind::KIND_NOT_SET: problems_.missing(places.at, "initialize without a kind", "uniform: 0.08, say"); break;
      case Kind::kUniform:
        if (!(initialize.uniform() >= 0 && std::isfinite(initialize.uniform())))
          problems_.bad(places.location("uniform"), "expected a range, a finite number from 0");
        break;
      case Kind::kNormal:
        if (!(initialize.normal() >= 0 && std::isfinite(initialize.normal())))
          problems_.bad(places.location("normal"), "expected a deviation, a finite number from 0");
        break;
      case Kind::kConstant:
        if (!std::isfinite(initialize.constant())) problems_.bad(places.location("constant"), "expected a finite number");
        break;
      case Kind::kVectors: problems_.unavailable(places.location("vectors"), "word vectors are not available yet"); break;
      default: break;
    }
    if (!initialize.field().empty() && initialize.kind_case() != Kind::kVectors)
      problems_.bad(places.location("field"), "only vectors are of a field");
  }

  void check_optimizer(const Job::Optimizer& optimizer, const Places& places) {
    if (optimizer.has_sgd()) {
      if (!(optimizer.sgd().learning_rate() > 0))
        positive(inside(places, "sgd"), "learning_rate", optimizer.sgd().learning_rate());
    } else if (optimizer.has_adam()) {
      const Job::Adam& adam = optimizer.adam();
      const Places& at = inside(places, "adam");
      if (!(adam.learning_rate() > 0)) positive(at, "learning_rate", adam.learning_rate());
      const auto decay = [&](const char* name, bool given, double value) {
        if (given && !(value >= 0 && value < 1))
          problems_.bad(at.location(name), fmt::format("{} is {}; expected a number from 0 to below 1", name, value));
      };
      decay("beta1", adam.has_beta1(), adam.beta1());
      decay("beta2", adam.has_beta2(), adam.beta2());
      if (adam.has_epsilon() && !(adam.epsilon() > 0)) positive(at, "epsilon", adam.epsilon());
    } else {
      problems_.missing(places.at, "an optimizer of no kind", "sgd { learning_rate: 0.6 } or adam { learning_rate: 5e-4 }");
    }
  }

  void check_schedule(const Job::Train& train, const Places& places) {
    const Job::Schedule& schedule = train.schedule();
    if (schedule.has_per_epoch()) {
      const Places& at = inside(places, "per_epoch");
      if (!(schedule.per_epoch().factor() > 0)) positive(at, "factor", schedule.per_epoch().factor());
      if (schedule.per_epoch().from() < 0) problems_.bad(at.location("from"), "epochs count from 1");
    } else if (schedule.has_no_improvement()) {
      const Places& at = inside(places, "no_improvement");
      const double factor = schedule.no_improvement().factor();
      if (!(factor > 0 && factor <= 1))
        problems_.bad(at.location("factor"), fmt::format("factor is {}; expected a number above 0, at most 1", factor));
      if (train.validate().keep_highest().empty() && train.validate().keep_lowest().empty())
        problems_.missing(at.at, "no_improvement needs a report to watch",
                          "train.validate.keep_lowest or keep_highest names it");
    } else {
      problems_.missing(places.at, "a schedule of no kind",
                        "per_epoch { factor: 0.5 from: 40 } or no_improvement { factor: 0.25 }");
    }
  }

  void check_validate(const Job::Validate& validate, const Places& places) {
    if (validate.every_epochs() < 0) problems_.bad(places.location("every_epochs"), "a negative number of epochs");
    if (job_.data.valid.empty())
      problems_.missing(places.at, "validate needs data to validate on", "data.valid names its files");
    if (!validate.keep_highest().empty() && !validate.keep_lowest().empty())
      problems_.bad(places.location("keep_lowest"),
                    "keep_highest and keep_lowest: one checkpoint is kept; expected one of them");
    const auto kept = [&](const char* setting, const std::string& name) {
      if (!name.empty() && std::find(report_names_.begin(), report_names_.end(), name) == report_names_.end())
        problems_.unknown(places.location(setting), "report", name, report_names_);
    };
    kept("keep_highest", validate.keep_highest());
    kept("keep_lowest", validate.keep_lowest());
  }

  void check_infer(const Job::Infer& infer, const Places& places) {
    InferSpec spec;
    spec.name = infer.name();
    spec.at = places.location("name");
    spec.field = infer.field();
    spec.from = places.text("from");
    if (spec.name.empty()) problems_.missing(places.at, "infer without a name");
    if (job_.infer_named(spec.name) && !spec.name.empty())
      problems_.twice(spec.at, fmt::format("a second infer '{}'", spec.name));
    if (infer.has_generate()) problems_.unavailable(inside(places, "generate").at, "generate is not available yet");
    if (infer.load_size() > 0) problems_.unavailable(places.location("load"), "loading several models is not available yet");
    if (infer.from().empty() && !infer.has_generate())
      problems_.missing(places.at, fmt::format("infer '{}' does not say what it writes", spec.name),
                        "from: an output of the graph");
    if (!infer.from().empty()) gather([&] { ir::parse_expression(spec.from); });
    check_read(infer, places, spec);
    check_write(infer, places, spec);
    if (!spec.field.empty() && !job_.data.field(spec.field))
      problems_.unknown(places.location("field"), "field", spec.field, field_names());
    job_.infer.push_back(std::move(spec));
  }

  void check_read(const Job::Infer& infer, const Places& places, InferSpec& spec) {
    const Format data = job_.data.format;
    const auto only = [&](bool fits, const char* which) {
      if (!fits)
        problems_.bad(places.location("read"), fmt::format("only the fields of {} data can be read from {}", which,
                                                           Job::Data::Format_Name(infer.read())));
    };
    switch (infer.read()) {
      case Job::Data::LINES: return;
      case Job::Data::CONLL: spec.read = Format::kConll; return only(data == Format::kConll, "CONLL");
      case Job::Data::TSV:
        spec.read = Format::kTsv;
        return only(data == Format::kTsv || data == Format::kParallel, "TSV and PARALLEL");
      case Job::Data::JSONL: spec.read = Format::kJsonl; return only(data == Format::kJsonl, "JSONL");
      default: problems_.bad(places.location("read"), "inference reads LINES, CONLL, TSV or JSONL");
    }
  }

  void check_write(const Job::Infer& infer, const Places& places, InferSpec& spec) {
    switch (infer.write()) {
      case Job::Infer::TEXT: spec.write = WriteAs::kText; break;
      case Job::Infer::CONLL:
        spec.write = WriteAs::kConll;
        if (spec.read != Format::kConll)
          problems_.missing(places.location("write"), "CONLL adds a column to those that are read", "read: CONLL");
        break;
      case Job::Infer::SEGMENTED: {
        spec.write = WriteAs::kSegmented;
        if (job_.data.format != Format::kSegmented)
          problems_.bad(places.location("write"), "only a job on SEGMENTED data writes SEGMENTED lines");
        for (const FieldSpec& field : job_.data.fields)
          if (spec.field.empty() && field.derive == Derive::kBmes) spec.field = field.name;
        break;
      }
      case Job::Infer::NUMBERS: spec.write = WriteAs::kNumbers; return;
      default: return problems_.unavailable(places.location("write"), "writing a MATRIX is not available yet");
    }
    if (spec.field.empty())
      problems_.missing(places.at, fmt::format("infer '{}' does not say whose entries it writes", spec.name),
                        "field: \"tags\", say");
  }

  // A field that nothing reads is no mistake, but hardly meant.
  void check_unused() {
    std::set<std::string> used;
    for (const FeedPlan::Feed& feed : job_.plan->feeds()) used.insert(feed.fields.begin(), feed.fields.end());
    for (const InferSpec& infer : job_.infer) used.insert(infer.field);
    used.insert(job_.data.bucket_by);
    for (const FieldSpec& field : job_.data.fields)
      if (!used.count(field.name))
        job_.warnings.push_back(
            {Severity::kWarning, "E0421 unused-field", field.at, fmt::format("no feed reads field '{}'", field.name), {}});
  }

  LoadedJob& job_;
  std::vector<Diagnostic>& diagnostics_;
  Problems problems_;
  std::vector<std::string> report_names_;
};

}  // namespace

void check_job(LoadedJob& job, std::vector<Diagnostic>& problems) { JobChecker(job, problems).check(); }

void check_training(const LoadedJob& job, std::vector<Diagnostic>& diagnostics) {
  Problems problems(diagnostics);
  const Job::Train& train = job.message.train();
  if (!job.message.has_train()) return problems.missing(job.places.at, "the job does not say how to train", "train { … }");
  const Location at = inside(job.places, "train").at;
  if (train.minimize().empty())
    problems.missing(at, "train does not say what to minimize", "minimize: \"loss\", an output of the graph");
  if (!train.has_optimizer()) problems.missing(at, "train has no optimizer", "optimizer { adam { learning_rate: 5e-4 } }");
  if (train.epochs() == 0) problems.missing(at, "train does not say for how many epochs", "epochs: 10");
  if (job.data.train.empty())
    problems.missing(inside(job.places, "data").at, "data has no files to train on", "train: \"data/train.txt\"");
}

}  // namespace graphrun
