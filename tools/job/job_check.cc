#include "tools/job/job_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "tools/job/bindings.h"
#include "tools/job/data_spec.h"
#include "tools/job/problems.h"
#include "tools/job/train_check.h"

namespace graphrun {
namespace {

constexpr int kVersion = 1;

class JobChecker {
 public:
  JobChecker(LoadedJob& job, std::vector<Diagnostic>& diagnostics)
      : job_(job), diagnostics_(diagnostics), problems_(diagnostics) {}

  void check() {
    const Job& job = job_.message;
    if (job.version() > kVersion) {
      problems_.add("E0418 newer-version", job_.places.location("version"),
                    fmt::format("a job of version {}; this program knows versions up to {}", job.version(), kVersion));
    }
    if (job.graph().empty()) problems_.missing(job_.places.at, "the job has no graph", "graph: \"tagger.pbtxt\", say");
    const std::size_t before = problems_.count();
    job_.products = products_of(job);
    check_arguments();
    job_.has_graph = problems_.count() == before && job_.data.sound && !job.graph().empty();
    check_report();
    if (job.has_train()) check_train(job_, report_names_, diagnostics_);
    for (int i = 0; i < job.infer_size(); ++i) {
      check_infer(job.infer(i), inside(job_.places, "infer", static_cast<std::size_t>(i)));
    }
    check_texts();
    check_unused();
  }

 private:
  std::vector<std::string> field_names() const {
    std::vector<std::string> names;
    for (const FieldSpec& field : job_.data.fields) names.push_back(field.name);
    return names;
  }

  // Checks that a named field has a vocabulary.
  void check_entries(const Location& at, const std::string& name) {
    const FieldSpec* const field = job_.data.field(name);
    if (field == nullptr) {
      problems_.unknown(at, "field", name, field_names());
    } else if (field->numbers) {
      problems_.bad(at, fmt::format("field '{}' holds numbers, and so has no entries", name),
                    "a field without `type: FLOAT` has a vocabulary");
    }
  }

  // Runs `parse`; errors that it throws are added to the problems.
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
        if (!names.insert(binding.name).second) {
          problems_.twice(at, fmt::format("a second value for the argument '{}'", binding.name));
        }
        gather([&] { check_vocabularies(ir::parse_expression(binding.value)); });
      }
    }
  }

  // Checks every vocabulary(field) in an expression.
  void check_vocabularies(const ir::Expression& e) {
    if (e.kind == ir::Expression::Kind::kCall && e.text == "vocabulary") {
      if (e.operands.size() != 1 || e.operands[0].kind != ir::Expression::Kind::kName) {
        problems_.bad(e.at, "vocabulary takes a field's name: vocabulary(words)");
      } else {
        check_entries(e.operands[0].at, e.operands[0].dotted());
      }
    }
    for (const ir::Expression& operand : e.operands) check_vocabularies(operand);
    for (const auto& [name, value, name_at] : e.keywords) check_vocabularies(value);
  }

  void check_report() {
    for (int i = 0; i < job_.message.report_size(); ++i) {
      gather([&] {
        for (ir::Binding& binding : ir::parse_grouped_bindings(job_.places.text("report", static_cast<std::size_t>(i)))) {
          job_.report.push_back(std::move(binding));
        }
      });
    }
    const Report report(job_.report, diagnostics_);
    report_names_ = report.result_names();
    for (const TextMeasure* text : report.texts()) {
      texts_.emplace_back(text->field(), text->mode());
      if (text->grouped_by()) check_groups(*text->grouped_by());
    }
  }

  // Checks the field that a report on text is grouped by.
  void check_groups(const GroupedBy& by) {
    grouped_by_.insert(by.of->name);
    const FieldSpec* const field = job_.data.field(by.of->name);
    if (by.width > 0 && field != nullptr) return;  // numbers have a length too
    check_entries(by.of->at, by.of->name);
    if (field == nullptr || field->splits.empty()) return;
    problems_.bad(by.of->at, fmt::format("an example has several entries of field '{}'", by.of->name),
                  fmt::format("by length({}, 10) is by ranges of their number", by.of->name));
  }

  // Checks reports on the output of infer blocks.
  void check_texts() {
    std::vector<std::string> modes;
    for (const InferSpec& infer : job_.infer) {
      if (infer.generate) modes.push_back(infer.name);
    }
    for (const auto& [field, mode] : texts_) {
      check_entries(field.at, field.name);
      const InferSpec* const infer = job_.infer_named(mode.name);
      if (infer == nullptr) {
        problems_.unknown(mode.at, "infer block", mode.name, modes);
      } else if (!infer->generate) {
        problems_.bad(mode.at, fmt::format("infer '{}' generates no text that a report could read", mode.name),
                      "one with generate { … } does");
      }
      if (job_.data.format == Format::kStream) {
        problems_.bad(mode.at, "a STREAM is one text: it has no lines that a report could compare");
      }
    }
    const Job::Validate& validate = job_.message.train().validate();
    const Places& places = inside(inside(job_.places, "train"), "validate");
    if (validate.samples() < 0) problems_.bad(places.location("samples"), "a negative number of samples");
    if (validate.samples() > 0 && texts_.empty()) {
      problems_.bad(places.location("samples"), "samples are of what a report reads, and none reads what an infer block writes",
                    "report: \"bleu = bleu(english, translate)\", of a field and an infer block");
    }
  }

  void check_infer(const Job::Infer& infer, const Places& places) {
    const std::size_t before = problems_.count();
    InferSpec spec;
    spec.name = infer.name();
    spec.at = places.location("name");
    spec.field = infer.field();
    spec.from = places.text("from");
    if (spec.name.empty()) problems_.missing(places.at, "infer without a name");
    if (job_.infer_named(spec.name) && !spec.name.empty()) {
      problems_.twice(spec.at, fmt::format("a second infer '{}'", spec.name));
    }
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
    if (infer.generate().has_shortlist() && !std::all_of(spec.name.begin(), spec.name.end(), is_plain)) {
      problems_.bad(
          spec.at,
          fmt::format("infer '{}' has a shortlist, so its name names a file; expected letters, digits, _ and -", spec.name));
    }
    if (infer.has_generate()) check_generate(infer, inside(places, "generate"), spec);
    if (infer.load_size() > 0) check_load(infer, places);
    if (infer.from().empty() && !infer.has_generate()) {
      problems_.missing(places.at, fmt::format("infer '{}' has no value to write", spec.name), "from: an output of the graph");
    }
    if (!infer.from().empty()) gather([&] { ir::parse_expression(spec.from); });
    check_read(infer, places, spec);
    check_write(infer, places, spec);
    check_longest(infer, places, spec);
    spec.weights = weights_of(infer);
    if (!spec.field.empty()) check_entries(places.location("field"), spec.field);
    spec.sound = problems_.count() == before;
    job_.infer.push_back(std::move(spec));
  }

  void check_load(const Job::Infer& infer, const Places& places) {
    std::vector<LoadSpec> all;
    for (int i = 0; i < infer.load_size(); ++i) {
      // The locations are those of the text, the folders those of the message, because --set completes their paths.
      const std::vector<BindingText> written = split_bindings(places.text("load", static_cast<std::size_t>(i)));
      const std::vector<BindingText> meant = split_bindings(ir::SourceText(infer.load(i)));
      for (std::size_t k = 0; k < std::min(written.size(), meant.size()); ++k) {
        const ir::SourceText& whole = written[k].whole;
        LoadSpec load{meant[k].name, meant[k].value.text, whole.at(0, std::max<std::size_t>(whole.text.size(), 1))};
        const auto same = [&](const LoadSpec& other) { return other.path == load.path; };
        if (std::any_of(all.begin(), all.end(), same)) {
          problems_.twice(load.at, load.path.empty() ? "a second model for the whole graph"
                                                     : fmt::format("a second model for '{}'", load.path));
        }
        if (load.folder.empty()) problems_.missing(load.at, "a model without its folder", "load: \"members.0 = runs/1\", say");
        load.folder = path_in(job_.folder, load.folder);
        all.push_back(std::move(load));
      }
    }
    const Location at = places.location("load");
    if (job_.message.has_train()) {
      problems_.bad(at, "a job that trains has parameters of its own; expected load without train",
                    "train { start { model: \"DIR\" } } begins with those of another model");
    }
    const auto same = [](const LoadSpec& a, const LoadSpec& b) { return a.path == b.path && a.folder == b.folder; };
    if (job_.load.empty()) {
      job_.load = std::move(all);
    } else if (!std::equal(all.begin(), all.end(), job_.load.begin(), job_.load.end(), same)) {
      problems_.bad(at, fmt::format("infer '{}' loads other models than the infer block before it", infer.name()),
                    "a job has one set of parameters: other models are another job");
    }
  }

  void check_generate(const Job::Infer& infer, const Places& places, InferSpec& spec) {
    const Job::Generate& generate = infer.generate();
    GenerateSpec made;
    made.at = places.at;
    for (const char* name : {"scan", "feed", "score", "begin", "end", "max_length"}) {
      if (places.fields.count(name) != 0) made.places[name] = places.location(name);
    }
    if (const auto given = places.fields.find("shortlist"); given != places.fields.end()) {
      const Places& shortlist = inside(places, "shortlist");
      made.places["shortlist"] = shortlist.at;
      for (const char* name : {"table", "field"}) {
        if (shortlist.fields.count(name) != 0) made.places[std::string("shortlist.") + name] = shortlist.location(name);
      }
    }
    for (const char* name : {"from", "field", "replace"}) {
      if (const Places& align = inside(places, "align"); align.fields.count(name) != 0) {
        made.places[std::string("align.") + name] = align.location(name);
      }
    }
    const auto required = [&](const char* name, const std::string& value, std::string& to, const char* example) {
      to = value;
      if (value.empty()) problems_.missing(places.at, fmt::format("generate without {}", name), example);
    };
    required("scan", generate.scan(), made.scan, "scan: \"decode\", a scan of the graph");
    required("feed", generate.feed(), made.feed, "feed: \"y\", what its `each` calls the words");
    required("score", generate.score(), made.score, "score: \"logits\", a number for each word");
    required("begin", generate.begin(), made.begin, "begin: \"<s>\", an entry of the field's vocabulary");
    required("end", generate.end(), made.end, "end: \"</s>\", an entry of the field's vocabulary");
    std::string length;
    required("max_length", generate.max_length(), length, "max_length: \"2 * source_time + 10\"");
    if (const std::optional<Dim> most = Dim::parse(length)) {
      made.max_length = *most;
      if (most->is_constant() && most->constant() < 1) {
        problems_.bad(places.location("max_length"), fmt::format("max_length is {}; expected 1 or more", most->constant()));
      }
      if (most->constant() > kMostWords) {
        problems_.bad(places.location("max_length"),
                      fmt::format("max_length has {} words; expected at most {}", most->constant(), kMostWords));
      }
    } else if (!length.empty()) {
      problems_.bad(places.location("max_length"), "max_length is a sum of numbers and sizes, \"2 * source_time + 10\"");
    }
    // In proto, 0 means that the field is absent.
    const auto count = [&](const char* name, std::int64_t value, std::int64_t otherwise) {
      if (value < 0) problems_.bad(places.location(name), fmt::format("{} is {}; expected {} or more", name, value, otherwise));
      return value > 0 ? value : otherwise;
    };
    if (generate.beam() > kMostBeam) {
      problems_.bad(places.location("beam"), fmt::format("beam is {}; expected at most {}", generate.beam(), kMostBeam));
    }
    made.beam = count("beam", generate.beam(), 1), made.n_best = count("n_best", generate.n_best(), 1);
    made.min_length = count("min_length", generate.min_length(), 0);
    if (made.max_length.is_constant() && made.max_length.constant() >= 1 && made.min_length > made.max_length.constant()) {
      problems_.bad(places.location("min_length"),
                    fmt::format("min_length is {}, above max_length, {}", made.min_length, made.max_length.constant()));
    }
    if (made.n_best > made.beam && !generate.has_sample()) {
      problems_.bad(places.location("n_best"), fmt::format("n_best is {}, above the beam of {}", made.n_best, made.beam));
    }
    if (generate.has_sample() && generate.beam() > 1) {
      not_heeded(places.location("beam"), "beam has no effect: sample draws words instead of searching");
    }
    made.norm = norm_of(generate, places);
    if (generate.has_align()) made.align = align_of(generate.align(), inside(places, "align"));
    if (generate.has_sample()) made.sample = sample_of(generate.sample(), inside(places, "sample"));
    if (generate.has_shortlist()) made.shortlist = shortlist_of(generate.shortlist(), inside(places, "shortlist"));
    if (infer.write() != Job::Infer::TEXT && infer.write() != Job::Infer::JSON) {
      problems_.bad(places.at, "what is generated is written as TEXT or JSON");
    }
    if (!infer.from().empty()) problems_.bad(places.at, "generate and `from` exclude each other; expected one of them");
    spec.generate = std::move(made);
  }

  AlignSpec align_of(const Job::Align& align, const Places& places) {
    if (align.from().empty()) {
      problems_.missing(places.at, "align without from", "from: \"alignment\", a number for each position of the input");
    }
    if (align.field().empty()) problems_.missing(places.at, "align without field", "field: the one that the positions are of");
    if (!align.field().empty()) {
      check_entries(places.location("field"), align.field());
      const FieldSpec* const field = job_.data.field(align.field());
      if (field != nullptr && field_depth(job_.data, *field) > 1) {
        problems_.bad(places.location("field"),
                      fmt::format("align: field '{}' is a sequence of sequences; expected words", align.field()));
      }
    }
    return {align.from(), align.field(), align.replace(), align.units() == Job::Align::WORDS};
  }

  SampleSpec sample_of(const Job::Sample& sample, const Places& places) {
    const double temperature = sample.has_temperature() ? sample.temperature() : 1;
    if (!(temperature > 0 && std::isfinite(temperature))) {
      problems_.bad(places.location("temperature"), fmt::format("temperature is {}; expected a number above 0", temperature));
    }
    if (sample.top_k() < 0) {
      problems_.bad(places.location("top_k"), fmt::format("top_k is {}; expected 0 or more", sample.top_k()));
    }
    return {temperature, sample.top_k(), sample.seed()};
  }

  ShortlistSpec shortlist_of(const Job::Shortlist& shortlist, const Places& places) {
    ShortlistSpec made;
    if (shortlist.table().empty()) {
      problems_.missing(places.at, "shortlist without table", "table: \"lex.txt.gz\", which graphrun shortlist MODEL writes");
    } else {
      made.table = path_in(job_.folder, shortlist.table());
    }
    if (shortlist.has_best()) made.best = shortlist.best();
    if (shortlist.has_first()) made.first = shortlist.first();
    if (made.best < 1) problems_.bad(places.location("best"), fmt::format("best is {}; expected 1 or more", made.best));
    if (made.first < 0) problems_.bad(places.location("first"), fmt::format("first is {}; expected 0 or more", made.first));
    made.field = shortlist.field();
    if (!made.field.empty()) check_entries(places.location("field"), made.field);
    return made;
  }

  LengthNorm norm_of(const Job::Generate& generate, const Places& places) {
    LengthNorm norm;
    switch (generate.length().normalize()) {
      case Job::Length::LENGTH: norm.kind = LengthNorm::Kind::kLength; break;
      case Job::Length::GNMT: norm.kind = LengthNorm::Kind::kGnmt; break;
      default: break;
    }
    if (generate.length().has_alpha()) norm.alpha = generate.length().alpha();
    if (generate.length().has_alpha() && norm.kind != LengthNorm::Kind::kGnmt) {
      not_heeded(inside(places, "length").location("alpha"), "alpha has no effect without normalize: GNMT");
    }
    if (!(norm.alpha >= 0)) problems_.bad(inside(places, "length").location("alpha"), "alpha is negative");
    return norm;
  }

  void check_read(const Job::Infer& infer, const Places& places, InferSpec& spec) {
    const Format data = job_.data.format;
    const auto only = [&](bool fits, const char* which) {
      if (!fits) {
        problems_.bad(places.location("read"), fmt::format("only the fields of {} data can be read from {}", which,
                                                           Job::Data::Format_Name(infer.read())));
      }
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
        if (spec.read != Format::kConll) {
          problems_.missing(places.location("write"), "CONLL adds a column to those that are read", "read: CONLL");
        }
        break;
      case Job::Infer::SEGMENTED: {
        spec.write = WriteAs::kSegmented;
        if (job_.data.format != Format::kSegmented) {
          problems_.bad(places.location("write"), "only a job on SEGMENTED data writes SEGMENTED lines");
        }
        for (const FieldSpec& field : job_.data.fields) {
          if (spec.field.empty() && field.derive == Derive::kBmes) spec.field = field.name;
        }
        break;
      }
      case Job::Infer::JSON:
        spec.write = WriteAs::kJson;
        if (!infer.has_generate()) return;  // numbers have no field
        break;
      case Job::Infer::NUMBERS: spec.write = WriteAs::kNumbers; return;
      case Job::Infer::MATRIX: spec.write = WriteAs::kMatrix; return;
      default: return;
    }
    if (spec.field.empty()) {
      problems_.missing(places.at, fmt::format("infer '{}' does not name the field whose entries it writes", spec.name),
                        "field: \"tags\", say");
    }
  }

  void check_longest(const Job::Infer& infer, const Places& places, InferSpec& spec) {
    spec.longest = infer.longest();
    spec.refuse_longer = infer.too_long() == Job::Infer::REFUSE;
    if (spec.longest < 0) problems_.bad(places.location("longest"), "longest is negative; expected units, or 0 for no limit");
    if (spec.longest > 0 && !spec.refuse_longer && (spec.write == WriteAs::kConll || spec.write == WriteAs::kSegmented)) {
      problems_.missing(places.location("longest"),
                        "what is written as CONLL or SEGMENTED is the whole line, so none can be cut", "too_long: REFUSE");
    }
    if (spec.longest == 0 && infer.too_long() != Job::Infer::CUT) {
      problems_.missing(places.location("too_long"), "too_long without a limit", "longest: 200, say");
    }
  }

  static WeightForm weights_of(const Job::Infer& infer) {
    switch (infer.weights()) {
      case Job::Infer::BFLOAT16: return WeightForm::kBFloat16;
      case Job::Infer::INT8: return WeightForm::kInt8;
      default: return WeightForm::kFloat32;
    }
  }

  static ProductPrecision products_of(const Job& job) {
    switch (job.product_precision()) {
      case Job::TF32: return ProductPrecision::kTf32;
      case Job::BFLOAT16: return ProductPrecision::kBFloat16;
      default: return ProductPrecision::kFloat32;
    }
  }

  // Warns about a setting without effect, which is probably not intended.
  void not_heeded(const Location& at, std::string text) {
    job_.warnings.push_back({Severity::kWarning, "E0421 unused-setting", at, std::move(text), {}});
  }

  // Warns about a field that is never read, which is probably not intended.
  void check_unused() {
    std::set<std::string> used;
    for (const FeedPlan::Feed& feed : job_.plan->feeds()) used.insert(feed.fields.begin(), feed.fields.end());
    for (const InferSpec& infer : job_.infer) used.insert(infer.field);
    used.insert(job_.data.bucket_by);
    for (const auto& [field, mode] : texts_) used.insert(field.name);
    used.insert(grouped_by_.begin(), grouped_by_.end());
    for (const FieldSpec& field : job_.data.fields) {
      if (!used.count(field.name)) {
        job_.warnings.push_back(
            {Severity::kWarning, "E0421 unused-field", field.at, fmt::format("no feed reads field '{}'", field.name), {}});
      }
    }
  }

  LoadedJob& job_;
  std::vector<Diagnostic>& diagnostics_;
  Problems problems_;
  std::vector<std::string> report_names_;
  std::vector<std::pair<NameUse, NameUse>> texts_;  // by report: the field and the infer block
  std::set<std::string> grouped_by_;                // fields that reports on text are grouped by
};

}  // namespace

void check_job(LoadedJob& job, std::vector<Diagnostic>& problems) { JobChecker(job, problems).check(); }

}  // namespace graphrun
