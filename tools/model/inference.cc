#include "tools/model/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>

#include "compiler/compile.h"
#include "runtime/executable.h"
#include "runtime/file.h"
#include "tools/cli/program.h"
#include "tools/data/inference_reader.h"
#include "tools/infer/writers.h"
#include "tools/model/evaluator.h"
#include "tools/model/expression.h"
#include "tools/model/fetch_file.h"
#include "tools/model/generate_lines.h"
#include "tools/model/generator.h"

namespace graphrun {
namespace {

const std::string kWritten = "infer.from";  // the value that is turned into text, as an output

const InferSpec* find_mode(const LoadedJob& job, const InferOptions& options) {
  if (const InferSpec* mode = job.infer_named(options.mode)) return mode;
  if (options.mode.empty()) {
    if (!options.fetches.empty()) return nullptr;
    throw UserError(ExitCode::kInvalidGraph, "E0424 no-infer",
                    "the model's job has no infer block: it does not say what to write",
                    {"help: --fetch NAME --fetch-out FILE writes tensors"});
  }
  std::string known = "help: infer blocks of this model:";
  for (const InferSpec& mode : job.infer) known += " " + mode.name;
  throw UserError(ExitCode::kUsage, "E0425 unknown-mode", fmt::format("the model has no infer block '{}'", options.mode),
                  {known});
}

// What can't be turned into lines: see write_batch.
void check_type(const ir::TensorType& type, const InferSpec& mode, const Location& at, std::vector<Diagnostic>& problems) {
  const bool one_each = mode.write == WriteAs::kText || mode.write == WriteAs::kNumbers,
             matrix = mode.write == WriteAs::kMatrix;
  const bool fits = type.shape.size() == (matrix ? 3 : 2) || (one_each && type.shape.size() == 1);
  if (fits && (writes_numbers(mode.write) || type.type == Type::kInt32)) return;
  problems.push_back({Severity::kError,
                      "E0417 bad-infer",
                      at,
                      fmt::format("infer '{}': `from` is {}; expected {}{}{}", mode.name, type.str(),
                                  writes_numbers(mode.write) ? "" : "INT32",
                                  matrix ? "[rows, columns, batch]" : "[time, batch]", one_each ? " or [batch]" : ""),
                      {}});
}

// Adds the expression over outputs as an output.
void add_written(ir::Graph& graph, const InferSpec& mode, std::vector<Diagnostic>& problems) {
  const ir::ValueId value = add_expression(graph, mode.from, "infer", {.field = "from", .code = "E0417 bad-infer"}, problems);
  if (value == ir::kNone) return;
  check_type(graph.type(value), mode, mode.from.at(0, mode.from.text.size()), problems);
  graph.outputs.push_back({kWritten, value});
}

// By axis of what is written but the batch's: the feed that holds how much of it is each row's; empty where none does (of a
// sequence in each step of another, each has a length of its own).
std::vector<std::string> lengths_of(const ir::Graph& graph, const FeedPlan& plan) {
  const Shape& shape = graph.type(graph.output(kWritten)->value).shape;
  std::vector<std::string> feeds(shape.empty() ? 0 : shape.size() - 1);
  for (std::size_t axis = 0; axis < feeds.size(); ++axis) {
    const auto tells = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const ir::Input& input) {
      return input.lengths_of && shape[axis] == Dim(*input.lengths_of) && graph.type(input.value).shape.size() == 1 &&
             plan.feed(graph.value(input.value).name) != nullptr;
    });
    if (tells != graph.inputs.end()) feeds[axis] = graph.value(tells->value).name;
  }
  return feeds;
}

// `shape`: of what is written. An axis of constant size is every row's whole.
RowSizes row_sizes(const Shape& shape, const std::vector<std::string>& lengths, const Batch& batch) {
  RowSizes sizes;
  for (const std::string& feed : lengths) {
    const Dim& axis = shape[sizes.size()];
    sizes.emplace_back(axis.is_constant() ? static_cast<std::size_t>(batch.rows) : 0, axis.is_constant() ? axis.constant() : 0);
    for (std::int64_t row = 0; !feed.empty() && row < batch.rows; ++row)
      sizes.back().push_back(static_cast<std::int64_t>(batch.feeds.at(feed).at(row)));
  }
  return sizes;
}

}  // namespace

void take_limit(InferenceReader::Options& reading, const InferSpec& mode) {
  reading.longest = mode.longest;
  reading.refuse_longer = mode.refuse_longer;
  reading.warn = [](const Diagnostic& warning) { std::cerr << render(warning, color_on_stderr()) << std::endl; };
}

void BadLines::read_with(InferenceReader::Options& reading) {
  if (stop_) return;
  // Neither a line of a million bytes nor what is no text is shown.
  reading.bad_line = [this](const Diagnostic& bad) {
    ++number_;
    std::cerr << fmt::format("{}: warning[{}]: {}; the line comes out empty", bad.at.str(), bad.code, bad.text) << std::endl;
  };
}

void BadLines::tell_total() const {
  if (number_ == 0) return;
  std::cerr << fmt::format("{} line{} no text and came out empty; --bad-lines stop ends at the first", number_,
                           number_ == 1 ? " was" : "s were")
            << std::endl;
}

void check_infer(const ir::Graph& graph, const Network& network) {
  std::vector<Diagnostic> problems;
  for (const InferSpec& mode : network.job.infer) {
    ir::Graph copy = graph;
    if (mode.generate) check_generate(graph, network, mode, problems);
    if (!mode.from.text.empty()) add_written(copy, mode, problems);
  }
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
}

void infer(const Network& network, const Parameters& parameters, std::unique_ptr<LineReader> lines,
           const InferOptions& options) {
  const InferSpec* mode = find_mode(network.job, options);
  ir::Graph graph = load_graph(network.request(false));
  if (mode != nullptr && mode->generate) return generate_lines(graph, network, parameters, *mode, std::move(lines), options);
  if (options.generate.any()) {
    throw UserError(
        ExitCode::kUsage, "E0427 no-generation",
        "the model generates no words: --beam, --n-best, --json, --force, --prefix, --alignments and those that draw words are "
        "for one that does");
  }
  if (options.fetches.empty() != options.fetch_file.empty()) {
    throw UserError(ExitCode::kUsage, "E0427 no-fetch-file", "--fetch NAME and --fetch-out FILE go together");
  }
  CompileOptions compile_options;
  if (mode != nullptr) {
    std::vector<Diagnostic> problems;
    add_written(graph, *mode, problems);
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

  InferenceReader::Options reading;
  reading.read = mode != nullptr ? mode->read : network.job.data.format;
  reading.rows = options.rows;
  if (mode != nullptr) take_limit(reading, *mode);
  BadLines bad_lines(options.stop_at_bad_lines);
  bad_lines.read_with(reading);
  const std::vector<std::string> fed = needed_feeds(program, *network.job.plan);
  reading.feeds = fed;
  std::vector<std::string> lengths;
  Shape shape;
  if (mode != nullptr && writes_numbers(mode->write)) {
    lengths = lengths_of(graph, *network.job.plan);
    shape = graph.type(graph.output(kWritten)->value).shape;
  }
  for (const std::string& feed : lengths) {
    const bool there = feed.empty() || std::find(reading.feeds.begin(), reading.feeds.end(), feed) != reading.feeds.end();
    if (!there) reading.feeds.push_back(feed);
  }
  InferenceReader reader(network.job.data, *network.job.plan, network.vocabularies, std::move(lines), reading);
  Executable executable(std::move(program), variables,
                        {options.device, mode != nullptr ? mode->weights : options.weights, network.job.products});
  const Vocabulary* vocabulary = nullptr;
  if (mode != nullptr && !mode->field.empty()) vocabulary = &network.vocabularies.at(mode->field);
  FetchFile fetched_file(options.fetch_file);
  std::int64_t number = 0;
  for (; const std::optional<InferenceBatch> batch = reader.next(); ++number) {
    std::vector<Tensor> fetched(compile_options.fetches.size());
    if (batch->batch.rows > 0) {
      clear_states(executable.program(), *variables);  // lines know nothing of one another
      Feeds feeds;                                     // not those that are for writing alone
      for (const std::string& name : fed) feeds[name] = batch->batch.feeds.at(name);
      with_lines(*batch, [&] { fetched = executable.run(feeds); });
      for (std::size_t i = mode != nullptr ? 1 : 0; i < fetched.size(); ++i) {
        fetched_file.add(number, compile_options.fetches[i], fetched[i]);
      }
    }
    if (mode != nullptr)
      write_output("-", write_batch(*batch, fetched[0], mode->write, vocabulary, row_sizes(shape, lengths, batch->batch)));
  }
  if (!options.fetches.empty()) fetched_file.write();
  bad_lines.tell_total();
}

}  // namespace graphrun
