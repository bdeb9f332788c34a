#include "tools/lsp/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include "compiler/compile.h"
#include "graphs/graph.pb.h"
#include "graphs/job.pb.h"
#include "tools/job/data_files.h"
#include "tools/job/train_check.h"
#include "tools/lsp/repair.h"
#include "tools/model/model_folder.h"
#include "tools/model/network_check.h"
#include "tools/validate/validate.h"

namespace graphrun::lsp {
namespace {

// Numbers for args and sizes that nothing gives: different ones, so that mistakes with sizes are found, which many numbers
// divide.
constexpr std::array<int, 8> kStandIns = {240, 336, 528, 624, 816, 912, 1104, 1392};
constexpr int kFewRepetitions = 2;
constexpr std::size_t kStandInEntries = 500;

void add(std::vector<Diagnostic>& to, const std::vector<Diagnostic>& from) { to.insert(to.end(), from.begin(), from.end()); }

// Runs a check and collects what it throws.
template <class Check>
void gather(std::vector<Diagnostic>& diagnostics, const Check& check) {
  try {
    check();
  } catch (const UserError& error) {
    add(diagnostics, error.diagnostics());
  } catch (const InternalError& error) {
    diagnostics.push_back({Severity::kError, "", {}, fmt::format("internal error: {}", error.what()), {}});
  }
}

// Shares a text in place of an open document's for a while.
class Shared {
 public:
  Shared(const Documents& documents, const std::string& path, const std::string& text) : documents_(documents) {
    documents.share_with(path, text);
  }
  ~Shared() { documents_.share(); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

 private:
  const Documents& documents_;
};

// The settings of lines "# set: hidden=4 input=3", as tests and editors use them.
std::map<std::string, std::string> settings_in(const std::string& text) {
  std::map<std::string, std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.starts_with("#");) {
    if (!line.starts_with("# set: ")) continue;
    std::istringstream words(line.substr(7));
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) out[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return out;
}

// Values for everything that a graph needs before it can be checked; `widths`: also for the last sizes of its inputs, which
// graphs that it calls may need.
std::vector<GraphRequest::Setting> stand_ins(const frontend::Definition& d, const std::string& text, bool widths) {
  std::map<std::string, std::string> given = settings_in(text);
  std::set<std::string> times;
  for (const frontend::InstanceDef& i : d.instances) {
    if (i.times) ir::for_each_name(*i.times, [&](const ir::Expression& e) { times.insert(e.path[0]); });
  }
  std::size_t next = 0;
  const auto give = [&](const std::string& name) {
    const int number = times.count(name) != 0 ? kFewRepetitions : kStandIns[next++ % kStandIns.size()];
    given.emplace(name, std::to_string(number));
  };
  for (const frontend::ArgDef& a : d.args) {
    if (!a.default_value && given.count(a.name) == 0) give(a.name);
  }
  // Sizes of parameters that only the caller's inputs determine.
  std::set<std::string> of_inputs;
  for (const frontend::InputDef& i : d.inputs) {
    for (const ir::Expression& size : i.shape) {
      ir::for_each_name(size, [&](const ir::Expression& e) { of_inputs.insert(e.path[0]); });
    }
    if (!widths || i.shape.size() < 2 || i.type != Type::kFloat) continue;
    ir::for_each_name(i.shape.back(), [&](const ir::Expression& e) {
      if (d.symbols.count(e.path[0]) != 0 && given.count(e.path[0]) == 0) give(e.path[0]);
    });
  }
  for (const frontend::ParameterDef& p : d.parameters) {
    for (const ir::Expression& size : p.shape) {
      ir::for_each_name(size, [&](const ir::Expression& e) {
        const std::string& name = e.path[0];
        if (d.symbols.count(name) != 0 && of_inputs.count(name) != 0 && given.count(name) == 0) give(name);
      });
    }
  }
  std::vector<GraphRequest::Setting> out;
  for (const auto& [name, value] : given) out.push_back({name, value, {}});
  return out;
}

// The text without the fields that a syntax error is in.
std::string without_mistakes(const Analysis& a, const std::vector<Diagnostic>& mistakes) {
  std::string text = a.readable;
  const TextPositions positions(a.readable);
  for (const Diagnostic& d : mistakes) {
    if (!is_syntax_error(d) || d.at.file != a.file()) continue;
    const std::size_t at = positions.offset_of_byte(d.at.line, d.at.column);
    const Places* places = &a.places;
    for (bool deeper = true; deeper;) {
      deeper = false;
      for (const Places::Written& w : places->written) {
        if (at < w.begin || at >= w.end) continue;
        const Places::FieldValue& value = places->fields.find(w.name)->second[w.first];
        if (w.name == "graph" && value.message) {
          places = value.message.get();
          deeper = true;
        } else {
          for (std::size_t i = w.begin; i < w.end; ++i) text[i] = text[i] == '\n' ? '\n' : ' ';
        }
        break;
      }
    }
  }
  return text;
}

void analyze_graph(Analysis& a, const Documents& documents, Depth depth) {
  const Shared shared(documents, a.path, a.readable);
  a.request.path = a.path;
  a.library = std::make_unique<frontend::Library>(a.request, a.of_library);
  a.definition = a.library->load_file(a.path);
  if (a.definition == nullptr) {
    if (depth == Depth::kMeanings && !a.repaired) add(a.diagnostics, a.of_library);
    return;
  }
  a.request.bindings = stand_ins(*a.definition, a.text, false);
  if (depth == Depth::kNames) return;
  GraphRequest request = a.request;
  request.observed = &a.observed;
  std::vector<Diagnostic> mistakes, warnings;
  gather(mistakes, [&] { check_graph(expand_graph(request, &warnings)); });
  if (!mistakes.empty() && std::none_of(mistakes.begin(), mistakes.end(), is_syntax_error)) {
    GraphRequest other = request;
    std::vector<Observation> observed;
    other.bindings = stand_ins(*a.definition, a.text, true);
    other.observed = &observed;
    std::vector<Diagnostic> fewer, of_other;
    gather(fewer, [&] { check_graph(expand_graph(other, &of_other)); });
    if (fewer.size() < mistakes.size()) {
      request.bindings = a.request.bindings = other.bindings;
      a.observed = std::move(observed);
      mistakes = std::move(fewer);
      warnings = std::move(of_other);
    }
  }
  if (!a.repaired) {
    add(a.diagnostics, mistakes);
    add(a.diagnostics, warnings);
  }
  if (mistakes.empty()) {
    request.observed = nullptr;
    request.training = false;
    if (!a.repaired) gather(a.diagnostics, [&] { load_graph(request); });
  } else if (a.observed.empty()) {
    const Shared less(documents, a.path, without_mistakes(a, mistakes));
    std::vector<Diagnostic> ignored;
    gather(ignored, [&] { expand_graph(request); });
  }
}

// Vocabularies of no data: with the entries that the job itself names, and made-up ones.
Vocabularies stand_in_vocabularies(const LoadedJob& job) {
  Vocabularies out;
  for (const FieldSpec& field : job.data.fields) {
    if (field.numbers || out.count(field.vocabulary_of()) != 0) continue;
    std::vector<std::string> entries = field.vocabulary.special;
    for (const FieldSpec& user : job.data.fields) {
      if (user.vocabulary_of() != field.vocabulary_of()) continue;
      for (const std::string& word : job.plan->words_of(user.name)) entries.push_back(word);
    }
    if (job.data.format == Format::kStream) entries.push_back(job.data.end_of_line);
    if (!field.vocabulary.closed) entries.emplace_back("<unk>");
    for (std::size_t i = 0; i < kStandInEntries + 7 * out.size(); ++i) entries.push_back(fmt::format("\x01{}", i));
    std::vector<std::string> once;
    for (const std::string& entry : entries) {
      if (std::find(once.begin(), once.end(), entry) == once.end()) once.push_back(entry);
    }
    out[field.vocabulary_of()] = Vocabulary(once, field.vocabulary.closed, field.name);
  }
  for (const FieldSpec& field : job.data.fields) {
    if (!field.numbers) out.emplace(field.name, out.at(field.vocabulary_of()));
  }
  return out;
}

void check_job_without_data(Analysis& a, std::vector<Diagnostic>& diagnostics) {
  std::vector<Diagnostic> problems, warnings;
  LoadedJob job = read_job(a.readable, a.path, {}, problems);
  warnings = job.warnings;
  for (const NamedFile& file : named_files(job)) a.data_files.push_back(file.path);
  const bool trains = job.message.has_train();
  if (trains && job.as_set) check_training(job, problems);
  const bool sound = problems.empty(), usable = job.has_graph && job.load.empty();
  add(diagnostics, problems);
  add(diagnostics, warnings);
  if (!usable) return;
  std::erase_if(job.infer, [](const InferSpec& mode) { return !mode.sound; });
  Vocabularies vocabularies = stand_in_vocabularies(job);
  std::vector<Diagnostic> of_vocabularies;  // which are not the job's
  const Network network = build_network(std::move(job), std::move(vocabularies), of_vocabularies);
  GraphRequest request = network.request(true);
  a.request.bindings = request.bindings;
  request.observed = &a.observed;
  std::vector<Diagnostic> mistakes, of_graph, of_feeds;
  gather(mistakes, [&] {
    const ir::Graph graph = check_graph(expand_graph(request, &of_graph));
    add(diagnostics, of_graph);
    const ir::Graph inference = network.graph(false);
    if (sound) check_network(graph, inference, network, of_feeds);
  });
  for (const Diagnostic& d : mistakes) diagnostics.push_back(network.job.at_argument(d));
  add(diagnostics, of_feeds);
}

void analyze_job(Analysis& a, const Documents& documents, Depth depth) {
  const Shared shared(documents, a.path, a.readable);
  const auto& job = static_cast<const Job&>(*a.message);
  a.request.job = a.path;
  a.request.path = job.graph();
  a.request.from_graphs = true;
  a.request.at = a.places.location("graph");
  a.library = std::make_unique<frontend::Library>(a.request, a.of_library);
  if (!job.graph().empty()) a.definition = a.library->load(job.graph(), a.request.at);
  if (depth == Depth::kNames) return;
  std::vector<Diagnostic> found;
  gather(found, [&] { check_job_without_data(a, found); });
  if (!a.repaired) add(a.diagnostics, found);
}

}  // namespace

std::size_t Analysis::in_readable(std::size_t offset) const {
  if (!repaired) return offset;
  const BytePlace at = TextPositions(text).place(offset);
  return TextPositions(readable).offset_of_byte(at.line, at.column);
}

std::unique_ptr<Analysis> analyze(const std::string& path, const Documents& documents, Depth depth) {
  auto out = std::make_unique<Analysis>();
  Analysis& a = *out;
  a.path = path;
  a.text = documents.text_of(path);
  a.job = is_job(a.text);
  a.message.reset(a.job ? static_cast<google::protobuf::Message*>(new Job) : new Graph);
  RepairedText read = read_repaired(a.text, intern_file(path), *a.message);
  a.readable = std::move(read.text);
  a.repaired = read.changed;
  a.places = std::move(read.places);
  if (a.repaired && depth == Depth::kMeanings) {
    const std::unique_ptr<google::protobuf::Message> whole(a.message->New());
    gather(a.diagnostics, [&] { parse_source(a.text, intern_file(path), whole.get(), &a.diagnostics); });
  }
  gather(a.diagnostics, [&] { a.job ? analyze_job(a, documents, depth) : analyze_graph(a, documents, depth); });
  return out;
}

std::vector<Diagnostic> check_file(const std::string& path, const Documents& documents) {
  const std::string text = documents.text_of(path);
  if (!is_job(text)) return analyze(path, documents, Depth::kMeanings)->diagnostics;
  std::vector<Diagnostic> found, warnings;
  gather(found, [&] { validate_job(text, path, {}, warnings); });
  if (found.empty()) add(found, warnings);
  return found;
}

}  // namespace graphrun::lsp
