#include "tools/model/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <set>

#include "compiler/compile.h"
#include "compiler/ir/builder.h"
#include "runtime/base/file.h"
#include "runtime/execute/executable.h"
#include "tools/cli/program.h"
#include "tools/data/inference_reader.h"
#include "tools/infer/in_order.h"
#include "tools/infer/writers.h"
#include "tools/model/evaluator.h"
#include "tools/model/expression.h"
#include "tools/model/fetch_file.h"
#include "tools/model/generate_lines.h"
#include "tools/model/generator.h"

namespace graphrun {
namespace {

const std::string kWritten = "infer.from";  // the output that is turned into text

const InferSpec* find_mode(const LoadedJob& job, const InferOptions& options) {
  if (options.mode.empty() && job.infer.empty() && !options.fetches.empty()) return nullptr;
  return &infer_block(job, options.mode, "help: --fetch NAME --fetch-out FILE writes tensors");
}

// Rejects values that cannot be turned into lines: see record_texts. `axes`: those of an example.
void check_type(const ir::TensorType& type, const Shape& axes, const InferSpec& mode, const Location& at,
                std::vector<Diagnostic>& problems) {
  const auto problem = [&](std::string text, std::vector<std::string> notes = {}) {
    problems.push_back({Severity::kError, "E0417 bad-infer", at,
                        fmt::format("infer '{}': `from` is {}; {}", mode.name, type.str(), text), std::move(notes)});
  };
  const bool one_each = mode.write == WriteAs::kText || mode.write == WriteAs::kNumbers,
             matrix = mode.write == WriteAs::kMatrix, any = mode.write == WriteAs::kJson;
  const bool fits = any || axes.size() == (matrix ? 2 : 1) || (one_each && axes.empty());
  const bool numbers = any || writes_numbers(mode.write);
  if (!fits || !(numbers || type.type == Type::kInt32)) {
    return problem(fmt::format("expected {}{}{}", numbers ? "" : "INT32",
                               matrix                            ? "[rows, columns, batch]"
                               : mode.write == WriteAs::kNumbers ? "[time, batch], [batch, classes]"
                                                                 : "[time, batch]",
                               one_each ? " or [batch]" : ""));
  }
  const bool of_each_unit = mode.write == WriteAs::kConll || mode.write == WriteAs::kSegmented;
  if (of_each_unit && axes[0].is_constant()) {
    problem(fmt::format("{} adds to each unit of an example, and it has always {}",
                        mode.write == WriteAs::kConll ? "CONLL" : "SEGMENTED", axes[0].str()));
  }
}

// The sizes of the examples' sequences, and the number of examples.
struct FedSizes {
  std::set<Symbol> batch, time;
  FedSizes(const ir::Graph& graph, const FeedPlan& plan) {
    for (const ir::Input& input : graph.inputs) {
      const Shape& shape = graph.type(input.value).shape;
      if (shape.empty() || plan.feed(graph.value(input.value).name) == nullptr) continue;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (const auto symbol = shape[axis].as_symbol()) (axis + 1 == shape.size() ? batch : time).insert(*symbol);
      }
    }
  }
};

// By axis of the written value, without the batch axis: what determines each row's part of it.
struct AxisOwner {
  std::string lengths;  // a feed that contains the length; may be empty
  std::string steps;    // otherwise, a feed with as many steps; empty: each row has the whole axis
};

// `shape`: that of the written value. A sequence within each step of another has several lengths per row, so it gets the whole
// axis.
std::vector<AxisOwner> axis_owners(const ir::Graph& graph, const FeedPlan& plan, const Shape& shape) {
  std::vector<AxisOwner> owners(shape.empty() ? 0 : shape.size() - 1);
  for (std::size_t axis = 0; axis < owners.size(); ++axis) {
    for (const ir::Input& input : graph.inputs) {
      const std::string& name = graph.value(input.value).name;
      const Shape& fed = graph.type(input.value).shape;
      if (plan.feed(name) == nullptr || fed.empty()) continue;
      if (input.lengths_of && shape[axis] == Dim(*input.lengths_of) && fed.size() == 1 && owners[axis].lengths.empty()) {
        owners[axis].lengths = name;
      }
      if (fed.size() > 1 && fed[0] == shape[axis] && owners[axis].steps.empty()) owners[axis].steps = name;
    }
    if (!owners[axis].lengths.empty() || shape[axis].is_constant()) owners[axis].steps.clear();
  }
  return owners;
}

// `value` with the batch axis moved to the end; ir::kNone if it has none.
ir::ValueId with_batch_last(ir::Graph& graph, ir::ValueId value, const FedSizes& sizes) {
  const Shape& shape = graph.type(value).shape;
  std::vector<std::int64_t> order;
  std::int64_t batch = -1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto symbol = shape[axis].as_symbol();
    if (batch < 0 && symbol && sizes.batch.count(*symbol) != 0) {
      batch = static_cast<std::int64_t>(axis);
    } else {
      order.insert(order.begin(), static_cast<std::int64_t>(axis));
    }
  }
  if (batch < 0) return ir::kNone;
  if (batch + 1 == static_cast<std::int64_t>(shape.size())) return value;
  order.push_back(batch);
  ir::Builder builder(graph);
  builder.set_name("infer.batch_last");
  return builder.op("transpose", {value}, {{"permutation", order}});
}

// Adds the expression over outputs as an output with the batch axis last.
void add_written(ir::Graph& graph, const FeedPlan& plan, const InferSpec& mode, std::vector<Diagnostic>& problems) {
  const std::size_t before = problems.size();
  const ir::ValueId value = add_expression(graph, mode.from, "infer", {.field = "from", .code = "E0417 bad-infer"}, problems);
  if (value == ir::kNone) return;
  const ir::TensorType type = graph.type(value);
  const Location at = mode.from.at(0, mode.from.text.size());
  const FedSizes sizes(graph, plan);
  if (sizes.batch.empty()) return;  // nothing is fed, which check_feeds reports
  const ir::ValueId written = with_batch_last(graph, value, sizes);
  if (written == ir::kNone) {
    problems.push_back({Severity::kError,
                        "E0417 bad-infer",
                        at,
                        fmt::format("infer '{}': `from` is {}, which has no value for each example: none of its axes is '{}'",
                                    mode.name, type.str(), sizes.batch.begin()->name()),
                        {}});
    return;
  }
  const Shape& shape = graph.type(written).shape;
  check_type(type, Shape(shape.begin(), shape.end() - 1), mode, at, problems);
  if (problems.size() != before) return;
  if (const std::vector<AxisOwner> owners = axis_owners(graph, plan, shape);
      !owners.empty() && owners[0].lengths.empty() && owners[0].steps.empty()) {
    const std::vector<Symbol> made_of = shape[0].symbols();
    if (std::any_of(made_of.begin(), made_of.end(), [&](Symbol s) { return sizes.time.count(s) != 0; })) {
      problems.push_back(
          {Severity::kError,
           "E0417 bad-infer",
           at,
           fmt::format(
               "infer '{}': `from` is {}, and nothing determines how much of '{}' belongs to an example and not padding",
               mode.name, type.str(), shape[0].str()),
           {"help: a size means each example's own number of steps if a fed sequence has it, or if an input with `lengths_of` "
            "provides it"}});
      return;
    }
  }
  graph.outputs.push_back({kWritten, written});
}

RowSizes row_sizes(const Shape& shape, const std::vector<AxisOwner>& owners, const InferenceBatch& batch) {
  RowSizes sizes;
  for (const AxisOwner& owner : owners) {
    const Dim& axis = shape[sizes.size()];
    const std::int64_t rows = batch.batch.rows;
    sizes.emplace_back(axis.is_constant() ? static_cast<std::size_t>(rows) : 0, axis.is_constant() ? axis.constant() : 0);
    for (std::int64_t row = 0; !owner.lengths.empty() && row < rows; ++row) {
      sizes.back().push_back(static_cast<std::int64_t>(batch.batch.feeds.at(owner.lengths).at(row)));
    }
    if (!owner.steps.empty() && rows > 0) sizes.back() = batch.steps.at(owner.steps);
  }
  return sizes;
}

// How the block writes numbers, and whether as JSON.
struct Writing {
  WriteAs write = WriteAs::kNumbers;
  bool json = false;
};
Writing writing_of(const InferSpec& mode, const ir::TensorType& type, bool json) {
  if (mode.write != WriteAs::kJson) return {mode.write, json};
  const bool entries = !mode.field.empty() && type.type == Type::kInt32 && type.shape.size() <= 2;
  return {entries ? WriteAs::kText : WriteAs::kNumbers, true};
}

// Produces texts from the numbers that a network computes for batches of lines.
class NumberAnswerer : public Answerer {
 public:
  struct Spec {
    std::vector<std::string> fed, fetches;  // of the program; the first fetch is written as text
    bool has_text = false;
    Shape shape;  // shape of that fetch
    std::vector<AxisOwner> owners;
    Writing writing;
    const Vocabulary* vocabulary = nullptr;
  };
  // `file`: for the other fetches, by batch; may be null.
  NumberAnswerer(Spec spec, Executable executable, FetchFile* file)
      : spec_(std::move(spec)), executable_(std::move(executable)), file_(file) {}

  std::unique_ptr<Answerer> share() const override {
    if (file_ != nullptr || !executable_.can_share()) return nullptr;
    return std::make_unique<NumberAnswerer>(spec_, executable_.share(), nullptr);
  }

  Answers answer(const InferenceBatch& batch) override {
    std::vector<Tensor> fetched(spec_.fetches.size());
    if (batch.batch.rows > 0) {
      clear_states(executable_.program(), executable_.variables());  // lines are independent
      Feeds feeds;                                                   // without the feeds that only determine what is written
      for (const std::string& name : spec_.fed) feeds[name] = batch.batch.feeds.at(name);
      with_lines(batch, [&] { fetched = executable_.run(feeds); });
      for (std::size_t i = spec_.has_text ? 1 : 0; i < fetched.size(); ++i) file_->add(number_, spec_.fetches[i], fetched[i]);
    }
    ++number_;
    if (!spec_.has_text) return {std::vector<std::string>(batch.records.size()), {}};
    return {record_texts(batch, fetched[0], spec_.writing.write, spec_.vocabulary, row_sizes(spec_.shape, spec_.owners, batch),
                         spec_.writing.json),
            {}};
  }

 private:
  const Spec spec_;
  Executable executable_;
  FetchFile* const file_;
  std::int64_t number_ = 0;  // number of the batch
};

}  // namespace

const InferSpec& infer_block(const LoadedJob& job, std::string_view name, std::string_view help) {
  if (const InferSpec* mode = job.infer_named(name)) return *mode;
  if (name.empty()) {
    throw UserError(ExitCode::kInvalidGraph, "E0424 no-infer",
                    "the model's job has no infer block, so there is nothing to write",
                    help.empty() ? std::vector<std::string>() : std::vector{std::string(help)});
  }
  std::string known = "help: infer blocks of this model:";
  for (const InferSpec& mode : job.infer) known += " " + mode.name;
  throw UserError(ExitCode::kUsage, "E0425 unknown-mode", fmt::format("the model has no infer block '{}'", name), {known});
}

const AlignSpec& alignment_of(const InferSpec& mode) {
  if (mode.generate && mode.generate->align) return *mode.generate->align;
  throw UserError(ExitCode::kUsage, {Diagnostic{Severity::kError,
                                                "E0429 bad-options",
                                                mode.generate ? mode.generate->at : mode.at,
                                                fmt::format("infer '{}' has no `align`", mode.name),
                                                {"help: generate { align { from: \"alignment\" field: \"source\" } } in the "
                                                 "job, or --set infer.NAME.generate.align.from=…"}}});
}

void take_limit(ReadingOptions& reading, const InferSpec& mode, bool warns) {
  reading.longest = mode.longest;
  reading.refuse_longer = mode.refuse_longer;
  if (!warns) return;
  reading.warn = [](const Diagnostic& warning) { std::cerr << render(warning, color_on_stderr()) << std::endl; };
}

void BadLines::read_with(ReadingOptions& reading) {
  if (stop_) return;
  // The line is not shown, since it may have a million bytes or not be text.
  reading.bad_line = [this](const Diagnostic& bad) {
    ++number_;
    if (!warns_) return;
    std::cerr << fmt::format("{}: warning[{}]: {}; its output is an empty line", bad.at.str(), bad.code, bad.text) << std::endl;
  };
}

void BadLines::tell_total() const {
  if (number_ == 0 || !warns_) return;
  std::cerr << fmt::format("{} line{} not text and produced empty output; --bad-lines stop ends at the first", number_,
                           number_ == 1 ? " was" : "s were")
            << std::endl;
}

void check_infer(const ir::Graph& graph, const Network& network) {
  std::vector<Diagnostic> problems;
  for (const InferSpec& mode : network.job.infer) {
    ir::Graph copy = graph;
    if (mode.generate) check_generate(graph, network, mode, problems);
    if (!mode.from.text.empty()) add_written(copy, *network.job.plan, mode, problems);
  }
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
}

void infer(const Network& network, const Parameters& parameters, std::unique_ptr<LineReader> lines,
           const InferOptions& options) {
  const InferSpec* mode = find_mode(network.job, options);
  GraphRequest request = network.request(false);
  request.keep.insert(request.keep.end(), options.fetches.begin(), options.fetches.end());
  ir::Graph graph = load_graph(request);
  if (mode != nullptr && mode->generate) return generate_lines(graph, network, parameters, *mode, std::move(lines), options);
  if (options.generate.of_words()) {
    throw UserError(
        ExitCode::kUsage, "E0427 no-generation",
        "the model generates no words: --beam, --n-best, --force, --prefix, --alignments and those that draw words are "
        "for one that does");
  }
  if (options.fetches.empty() != options.fetch_file.empty()) {
    throw UserError(ExitCode::kUsage, "E0427 no-fetch-file", "--fetch NAME and --fetch-out FILE go together");
  }
  refuse_to_overwrite("--fetch-out", options.fetch_file, {options.from_stdin ? "-" : lines->name()});
  CompileOptions compile_options;
  if (mode != nullptr) {
    std::vector<Diagnostic> problems;
    add_written(graph, *network.job.plan, *mode, problems);
    if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
    compile_options.fetches.push_back(kWritten);
  }
  std::vector<std::string>& fetches = compile_options.fetches;
  for (const std::string& name : options.fetches) {
    if (std::find(fetches.begin(), fetches.end(), name) == fetches.end()) fetches.push_back(name);
  }
  Program program = compile(graph, compile_options);
  const auto variables = std::make_shared<Variables>();
  set_parameters(program, parameters, *variables);

  ReadingOptions reading;
  reading.read = mode != nullptr ? mode->read : network.job.data.format;
  reading.rows = options.rows;
  if (options.fetch_file.empty()) reading.ahead = options.ahead;  // the file lists fetches by batch
  if (mode != nullptr) take_limit(reading, *mode, options.writes());
  BadLines bad_lines(options.stop_at_bad_lines, options.writes());
  bad_lines.read_with(reading);
  const std::vector<std::string> fed = need_feeds(program, *network.job.plan);
  reading.feeds = fed;
  std::vector<AxisOwner> owners;
  ir::TensorType written;
  Writing writing;
  if (mode != nullptr) {
    written = graph.type(graph.output(kWritten)->value);
    owners = axis_owners(graph, *network.job.plan, written.shape);
    writing = writing_of(*mode, written, options.generate.json);
  }
  for (const AxisOwner& owner : owners) {
    for (const std::string& feed : {owner.lengths, owner.steps}) {
      const bool there = feed.empty() || std::find(reading.feeds.begin(), reading.feeds.end(), feed) != reading.feeds.end();
      if (!there) reading.feeds.push_back(feed);
    }
  }
  InferenceReader reader(network.job.data, *network.job.plan, network.vocabularies, std::move(lines), reading);
  const WeightForm weights = mode != nullptr ? mode->weights : options.weights;
  NumberAnswerer::Spec spec;
  spec.fed = fed, spec.has_text = mode != nullptr, spec.fetches = compile_options.fetches;
  if (mode != nullptr) {
    spec.shape = written.shape, spec.owners = owners, spec.writing = writing;
    if (!mode->field.empty()) spec.vocabulary = &network.vocabularies.at(mode->field);
  }
  FetchFile fetched_file(options.fetch_file);
  NumberAnswerer answerer(spec, Executable(std::move(program), variables, {*options.device, weights, network.job.products}),
                          options.fetches.empty() ? nullptr : &fetched_file);
  answer_in_order(reader, answerer, {}, options.together);
  if (!options.fetches.empty()) fetched_file.write();
  bad_lines.tell_total();
}

}  // namespace graphrun
