#include "tools/model/inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "compiler/compile.h"
#include "runtime/executable.h"
#include "runtime/file.h"
#include "tools/data/inference_reader.h"
#include "tools/infer/writers.h"
#include "tools/model/evaluator.h"
#include "tools/model/expression.h"
#include "tools/model/fetch_file.h"
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
  const ir::ValueId value = add_expression(graph, mode.from, "infer", {.field = "from", .code = "E0417 bad-infer"}, problems);
  if (value == ir::kNone) return;
  check_type(graph.type(value), mode, mode.from.at(0, mode.from.text.size()), problems);
  graph.outputs.push_back({kWritten, value});
}

void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  unwritable_file("stdout", "write", errno);
}

// Words for lines: as many lines each as the mode says.
void generate(const ir::Graph& graph, const Network& network, const Parameters& parameters, const InferSpec& mode,
              std::unique_ptr<LineReader> lines, const InferOptions& options) {
  if (!options.fetches.empty())
    throw UserError(ExitCode::kUsage, "E0427 no-fetch",
                    fmt::format("infer '{}' generates: --fetch is for the others", mode.name));
  InferSpec chosen = mode;
  if (options.n_best > 0) chosen.generate->n_best = options.n_best;
  chosen.generate->beam = options.beam > 0 ? options.beam : std::max(chosen.generate->beam, chosen.generate->n_best);
  if (chosen.generate->n_best > chosen.generate->beam) {
    throw UserError(ExitCode::kUsage, "E0428 narrow-beam",
                    fmt::format("a beam of {} does not hold the {} best", chosen.generate->beam, chosen.generate->n_best),
                    {"help: --n-best and --beam say how many"});
  }
  Generator generator(graph, network, chosen, parameters, options.device);
  InferenceReader::Options reading;
  reading.read = mode.read;
  reading.rows = options.rows;
  reading.feeds = generator.feeds();
  InferenceReader reader(network.job.data, *network.job.plan, network.vocabularies, std::move(lines), reading);
  const Vocabulary& vocabulary = network.vocabularies.at(mode.field);
  for (std::int64_t number = 0; const std::optional<InferenceBatch> batch = reader.next();) {
    std::vector<std::vector<Hypothesis>> found;
    if (batch->batch.rows > 0) found = generator.run(batch->batch);
    std::string text;
    for (const std::int64_t row : batch->rows) {
      const std::vector<Hypothesis> none;
      const std::vector<Hypothesis>& best = row < 0 ? none : found[static_cast<std::size_t>(row)];
      text += chosen.generate->n_best > 1 ? n_best_lines(number, best, vocabulary)
                                          : text_line(best.empty() ? std::vector<std::int32_t>() : best[0].words, vocabulary);
      ++number;
    }
    write_out(text);
  }
}

}  // namespace

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
  if ((options.beam > 0 || options.n_best > 0) && (mode == nullptr || !mode->generate)) {
    throw UserError(ExitCode::kUsage, "E0427 no-generation",
                    "the model generates no words: --beam and --n-best mean nothing to it");
  }
  if (mode != nullptr && mode->generate) return generate(graph, network, parameters, *mode, std::move(lines), options);
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
