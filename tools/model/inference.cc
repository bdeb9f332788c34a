#include "tools/model/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "compiler/compile.h"
#include "compiler/ir/builder.h"
#include "runtime/executable.h"
#include "runtime/file.h"
#include "tools/data/inference_reader.h"
#include "tools/infer/writers.h"
#include "tools/model/evaluator.h"
#include "tools/model/fetch_file.h"

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

// Looks at the names and ops of an expression over outputs.
void check_expression(const ir::Graph& graph, const ir::Expression& e, std::vector<Diagnostic>& problems) {
  using Kind = ir::Expression::Kind;
  const auto unknown = [&](const std::string& what, const std::string& name, const std::vector<std::string>& known) {
    Diagnostic problem{Severity::kError, "E0417 bad-infer", e.at, fmt::format("there is no {} '{}'", what, name), {}};
    if (const std::string near = did_you_mean(name, known); !near.empty()) problem.notes.push_back("help: " + near);
    problems.push_back(std::move(problem));
  };
  if (e.kind == Kind::kName && graph.output(e.dotted()) == nullptr) {
    std::vector<std::string> known;
    for (const ir::Output& output : graph.outputs) known.push_back(output.name);
    unknown("output", e.dotted(), known);
  } else if (e.kind == Kind::kCall && ir::OpRegistry::instance().find(e.text) == nullptr) {
    std::vector<std::string> known;
    for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
      if (!op->internal) known.push_back(op->name);
    }
    unknown("op", e.text, known);
  } else if (e.kind == Kind::kGraph || e.kind == Kind::kList || e.kind == Kind::kChoice || e.kind == Kind::kIndex) {
    problems.push_back({Severity::kError,
                        "E0417 bad-infer",
                        e.at,
                        "`from` is made of the graph's outputs, ops and numbers alone",
                        {"help: slice(x, axis=0, begin=i, end=j) stands for x[i:j]"}});
  }
  for (const ir::Expression& operand : e.operands) check_expression(graph, operand, problems);
  for (const auto& [name, value] : e.keywords) check_expression(graph, value, problems);
}

// What can't be turned into lines: see write_batch.
void check_type(const ir::TensorType& type, const InferSpec& mode, const Location& at, std::vector<Diagnostic>& problems) {
  const bool one_each = mode.write == WriteAs::kText || mode.write == WriteAs::kNumbers;
  const bool fits = type.shape.size() == 2 || (one_each && type.shape.size() == 1);
  if (fits && (mode.write == WriteAs::kNumbers || type.type == Type::kInt32)) return;
  problems.push_back({Severity::kError,
                      "E0417 bad-infer",
                      at,
                      fmt::format("infer '{}': `from` is {}; expected {}[time, batch]{}", mode.name, type.str(),
                                  mode.write == WriteAs::kNumbers ? "" : "INT32", one_each ? " or [batch]" : ""),
                      {}});
}

// Adds the expression over outputs as an output.
void add_written(ir::Graph& graph, const InferSpec& mode, std::vector<Diagnostic>& problems) {
  const std::size_t before = problems.size();
  check_expression(graph, ir::parse_expression(mode.from), problems);
  if (problems.size() != before) return;
  std::vector<std::pair<std::string, ir::ValueId>> names;
  for (const ir::Output& output : graph.outputs) names.emplace_back(output.name, output.value);
  ir::Builder builder(graph);
  builder.set_name("infer");
  builder.set_location(mode.from.at(0, mode.from.text.size()));
  try {
    const ir::ValueId value = builder.equation(mode.from.text, names);
    check_type(graph.type(value), mode, builder.location(), problems);
    graph.outputs.push_back({kWritten, value});
  } catch (const ir::OpError& error) {
    std::vector<std::string> notes;
    if (!error.help.empty()) notes.push_back(error.help);
    problems.push_back({Severity::kError, "E0417 bad-infer", builder.location(), error.what(), notes});
  }
}

void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  unwritable_file("stdout", "write", errno);
}

}  // namespace

void check_infer(const ir::Graph& graph, const LoadedJob& job) {
  std::vector<Diagnostic> problems;
  for (const InferSpec& mode : job.infer) {
    ir::Graph copy = graph;
    if (!mode.from.text.empty()) add_written(copy, mode, problems);
  }
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(problems));
}

void infer(const Network& network, const Parameters& parameters, std::unique_ptr<LineReader> lines,
           const InferOptions& options) {
  const InferSpec* mode = find_mode(network.job, options);
  ir::Graph graph = load_graph(network.request(false));
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
  reading.feeds = needed_feeds(program, *network.job.plan);
  InferenceReader reader(network.job.data, *network.job.plan, network.vocabularies, std::move(lines), reading);
  Executable executable(std::move(program), variables, options.device);
  const Vocabulary* vocabulary = nullptr;
  if (mode != nullptr && !mode->field.empty()) vocabulary = &network.vocabularies.at(mode->field);
  FetchFile fetched_file(options.fetch_file);
  std::int64_t number = 0;
  for (; const std::optional<InferenceBatch> batch = reader.next(); ++number) {
    std::vector<Tensor> fetched(compile_options.fetches.size());
    if (batch->batch.rows > 0) {
      clear_states(executable.program(), *variables);  // lines know nothing of one another
      fetched = executable.run(batch->batch.feeds);
      for (std::size_t i = mode != nullptr ? 1 : 0; i < fetched.size(); ++i) {
        fetched_file.add(number, compile_options.fetches[i], fetched[i]);
      }
    }
    if (mode != nullptr) write_out(write_batch(*batch, fetched[0], mode->write, vocabulary));
  }
  if (!options.fetches.empty()) fetched_file.write();
}

}  // namespace graphrun
