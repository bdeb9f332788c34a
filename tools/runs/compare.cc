#include "tools/runs/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <sstream>

#include "compiler/frontend/source.h"
#include "runtime/base/file.h"
#include "tools/cli/program.h"
#include "tools/json/json.h"
#include "tools/model/evaluator.h"
#include "tools/model/loaded_models.h"
#include "tools/plot/page.h"
#include "tools/report/long_sum.h"
#include "tools/run/run_folder.h"
#include "tools/score/numpy_random.h"
#include "tools/score/significance.h"
#include "tools/text/utf8.h"
#include "tools/train/recipe.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestSpeed = std::uint64_t{1} << 30;
constexpr std::uint64_t kBootstrapSeed = 12345;  // as in sacreBLEU

// Of some examples: counts, and sums that are too precise for a double.
struct Sums {
  std::vector<double> counts;
  std::vector<LongSum> sums;
};

// A model's sums by example of a set, and the report that follows from sums.
struct ScoredSet {
  std::vector<Sums> examples;
  std::function<double(const Sums&)> score;
};

// The sums of a report's measure as numbers: what its state has under the report's name, with one place for each key of any
// example. So the numbers of a state must be sums, and their keys must mean the same in all states.
class StateSums {
 public:
  StateSums(std::shared_ptr<Model> model, std::string report) : model_(std::move(model)), report_(std::move(report)) {
    const std::string entry = report_.substr(0, report_.find('.'));
    prefix_ = "/" + entry + "/";
    this->report().clear();
    empty_ = this->report().state();
  }
  Report& report() { return *model_->network.report; }
  // Of what the report has seen since it was cleared.
  Sums take() {
    Sums taken;
    const nlohmann::json flat = report().state().flatten();
    for (const auto& [key, value] : flat.items()) {
      if (!key.starts_with(prefix_)) continue;
      if (value.is_number()) place(counts_, key, taken.counts) = value.get<double>();
      if (value.is_string()) place(sums_, key, taken.sums) = LongSum::parse(value.get<std::string>());
    }
    return taken;
  }
  double score(const Sums& of) {
    nlohmann::json state = empty_;
    for (const auto& [key, place] : counts_) {
      state[nlohmann::json::json_pointer(key)] = place < of.counts.size() ? static_cast<std::int64_t>(of.counts[place]) : 0;
    }
    for (const auto& [key, place] : sums_) {
      state[nlohmann::json::json_pointer(key)] = (place < of.sums.size() ? of.sums[place] : LongSum()).text();
    }
    report().restore(state);
    return report().result(report_);
  }

 private:
  using Places = std::map<std::string, std::size_t>;

  // The number of a key, which gets the next place if it has none yet.
  template <class Number>
  static Number& place(Places& places, const std::string& key, std::vector<Number>& numbers) {
    const std::size_t at = places.emplace(key, places.size()).first->second;
    numbers.resize(std::max(numbers.size(), at + 1));
    return numbers[at];
  }

  std::shared_ptr<Model> model_;
  std::string report_, prefix_;
  nlohmann::json empty_;
  Places counts_, sums_;
};

ScoredSet score_set(const std::string& folder, const std::string& report, const Device& device) {
  const auto model = std::make_shared<Model>(open_model(folder, {}));
  const Network& network = model->network;
  const std::vector<std::string>& files = network.job.data.test.empty() ? network.job.data.valid : network.job.data.test;
  ScoredSet scored;
  if (files.empty() || network.job.data.format == Format::kStream) return scored;
  Evaluator evaluator(load_graph(network.request(false)), network, device);
  DatasetOptions reading;
  reading.texts = network.report->text_fields();
  reading.plan = network.job.plan.get();
  const Dataset set = read_dataset(network.job.data, network.vocabularies, files, reading);
  Variables variables;
  for (const auto& [name, tensor] : model->parameters.tensors) variables.set(name, tensor);
  if (TextMeasure* const text = network.report->text(report)) {
    evaluator.evaluate(set, variables);
    for (const Counts& counts : text->segments()) scored.examples.push_back({{counts.begin(), counts.end()}, {}});
    scored.score = [model, text](const Sums& sums) {
      return text->score().single_score(Counts(sums.counts.begin(), sums.counts.end()));
    };
    return scored;
  }
  const auto sums = std::make_shared<StateSums>(model, report);
  evaluator.evaluate_each(set, variables, [&](std::int64_t, const ReportResults&) { scored.examples.push_back(sums->take()); });
  scored.score = [sums](const Sums& of) { return sums->score(of); };
  return scored;
}

template <class Number>
void add_numbers(std::vector<Number>& to, const std::vector<Number>& of) {
  if (to.size() < of.size()) to.resize(of.size());
  for (std::size_t i = 0; i < of.size(); ++i) to[i] += of[i];
}

void add_sums(Sums& to, const Sums& of) {
  add_numbers(to.counts, of.counts);
  add_numbers(to.sums, of.sums);
}

double mean_of_scores(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

// The mean score over the seeds of each sample, by variant; a sample draws the same examples of the set for all variants.
std::vector<std::vector<double>> draw_samples(const std::vector<std::vector<ScoredSet>>& variants, std::int64_t samples) {
  const std::size_t examples = variants.front().front().examples.size();
  NumpyRandom random(kBootstrapSeed);
  std::vector<std::vector<double>> drawn(variants.size());
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    std::vector<std::size_t> chosen(examples);
    for (std::size_t& example : chosen) example = random.below(static_cast<std::uint32_t>(examples));
    for (std::size_t v = 0; v < variants.size(); ++v) {
      std::vector<double> scores;
      for (const ScoredSet& run : variants[v]) {
        Sums sums;
        for (const std::size_t example : chosen) add_sums(sums, run.examples[example]);
        scores.push_back(run.score(sums));
      }
      drawn[v].push_back(mean_of_scores(scores));
    }
  }
  return drawn;
}

std::string folder_of(const CompareRequest& request, const ComparedTask& task, const ComparedVariant& variant) {
  return request.out + "/" + task.name + "/" + variant.name;
}

// The last reports of a finished run, and their set.
std::pair<std::string, ReportResults> results_of_run(const std::string& folder) {
  std::pair<std::string, ReportResults> found;
  std::istringstream lines(read_file(ModelLayout{folder}.metrics(), kLargestSpeed));
  for (std::string line; std::getline(lines, line);) {
    if (auto test = parse_results(line, "test")) found = {"test", std::move(*test)};
  }
  if (found.second.empty()) {
    if (auto valid = parse_results(read_parameters(ModelLayout{folder}).reports, "valid")) found = {"valid", std::move(*valid)};
  }
  return found;
}

// Tokens per second of the training of a run.
double speed_of_run(const std::string& folder) {
  const std::string path = ModelLayout{folder}.speed();
  if (!is_there(path)) return 0;
  double tokens = 0, seconds = 0;
  std::istringstream lines(read_file(path, kLargestSpeed));
  for (std::string line; std::getline(lines, line);) {
    const auto json = parse_json_or_discard(line);
    if (!json.is_object() || !json.contains("train")) continue;
    const double of = number_of(json["train"].value("seconds", nlohmann::json()));
    tokens += of * number_of(json["train"].value("tokens_per_second", nlohmann::json()));
    seconds += of;
  }
  return seconds > 0 ? tokens / seconds : 0;
}

std::string compared_report(const LoadedJob& job, const std::string& folder, const ReportResults& results) {
  const std::string keep = make_recipe(job).keep;
  if (!keep.empty()) return keep;
  if (results.empty())
    throw UserError(ExitCode::kInvalidGraph, "E0414 bad-report",
                    fmt::format("the run in '{}' has no report to compare", folder),
                    {"help: report: \"loss = mean(nll)\", say"});
  return results.front().first;
}

std::string score_text(const ComparedCell& cell, const char* between) {
  if (!cell.scores.empty() && cell.diverged == cell.scores.size()) return "diverged";
  if (std::isnan(cell.mean)) return "nan";
  const int digits = std::abs(cell.mean) >= 10 ? 2 : 4;
  std::string text = fmt::format("{:.{}f}", cell.mean, digits);
  if (!std::isnan(cell.deviation)) text += fmt::format("{}{:.{}f}", between, cell.deviation, digits);
  return text;
}

std::string p_text(const ComparedCell& cell) { return std::isnan(cell.p_value) ? "–" : fmt::format("{:.3f}", cell.p_value); }

std::vector<std::vector<std::string>> table_rows(const std::vector<ComparedCell>& cells, const char* between) {
  std::vector<std::vector<std::string>> rows = {{"task", "variant", "report", "score", "p", "parameters", "tokens/s"}};
  for (const ComparedCell& cell : cells) {
    rows.push_back({cell.task, cell.variant, cell.set + " " + cell.report, score_text(cell, between), p_text(cell),
                    std::to_string(cell.parameters), fmt::format("{:.0f}", cell.tokens_per_second)});
  }
  return rows;
}

nlohmann::ordered_json comparison_json(const std::vector<ComparedCell>& cells, const CompareRequest& request) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const ComparedCell& cell : cells) {
    nlohmann::ordered_json scores = nlohmann::ordered_json::array();
    for (const double score : cell.scores) scores.push_back(number_json(score));
    all.push_back({{"task", cell.task},
                   {"variant", cell.variant},
                   {"set", cell.set},
                   {"report", cell.report},
                   {"scores", scores},
                   {"diverged", cell.diverged},
                   {"mean", number_json(cell.mean)},
                   {"deviation", number_json(cell.deviation)},
                   {"p_value", number_json(cell.p_value)},
                   {"parameters", cell.parameters},
                   {"tokens_per_second", cell.tokens_per_second}});
  }
  return {{"seeds", request.seeds}, {"cells", all}};
}

class Comparison {
 public:
  explicit Comparison(const CompareRequest& request) : request_(request) {}

  ExitCode run() {
    for (const ComparedTask& task : request_.tasks) {
      if (const ExitCode code = run_task(task); code != ExitCode::kDone) return code;
    }
    const std::string note = comparison_note(static_cast<std::int64_t>(request_.seeds.size()), request_.samples);
    const std::string text = comparison_text(cells_, note);
    write_file(request_.out + "/compare.txt", text);
    write_file(request_.out + "/compare.tex", comparison_latex(cells_, note));
    write_file(request_.out + "/compare.html",
               html_page("graphrun compare", {{"Scores", html_table(table_rows(cells_, " ± ")) + "<p>" + note + "</p>"}}));
    write_file(request_.out + "/compare.json", json_text(comparison_json(cells_, request_), 1) + "\n");
    write_output("-", text);
    return diverged_ ? ExitCode::kDiverged : ExitCode::kDone;
  }

 private:
  ExitCode run_task(const ComparedTask& task) {
    const std::size_t first = cells_.size();
    std::vector<std::vector<ScoredSet>> scored;
    for (const ComparedVariant& variant : request_.variants) {
      ComparedCell cell;
      cell.task = task.name, cell.variant = variant.name;
      scored.emplace_back();
      std::vector<double> finished;  // the scores of the runs that did not diverge
      for (const std::uint64_t seed : request_.seeds) {
        const std::string folder = seed_folder(folder_of(request_, task, variant), seed);
        const ExitCode code = train_one(task, variant, seed, folder);
        if (code != ExitCode::kDone && code != ExitCode::kDiverged) return code;
        if (code == ExitCode::kDiverged) {
          cell.scores.push_back(std::numeric_limits<double>::quiet_NaN());
          ++cell.diverged;
          diverged_ = true;
          continue;
        }
        take_results(folder, cell);
        finished.push_back(cell.scores.back());
        scored.back().push_back(score_set(folder, cell.report, *request_.device));
      }
      summarize(finished, cell);
      cells_.push_back(std::move(cell));
    }
    test_significance(scored, first);
    return ExitCode::kDone;
  }

  ExitCode train_one(const ComparedTask& task, const ComparedVariant& variant, std::uint64_t seed, const std::string& folder) {
    TrainRequest one;
    one.job = task.job;
    one.text = read_source(task.job);
    one.settings = request_.settings;
    one.settings.insert(one.settings.end(), variant.settings.begin(), variant.settings.end());
    one.settings.push_back("train.seed=" + std::to_string(seed));
    one.out = folder;
    one.command = request_.command;
    one.begin = RunFolder::Begin::kEither;
    one.quiet = request_.quiet;
    one.print_results = false;
    one.device = request_.device;
    try {
      return train(one);
    } catch (const UserError& error) {
      if (error.exit_code() != ExitCode::kDiverged) throw;
      fmt::print(stderr, "{}\n", render(error.diagnostics(), color_on_stderr()));
      return ExitCode::kDiverged;
    }
  }

  static void take_results(const std::string& folder, ComparedCell& cell) {
    const auto [set, results] = results_of_run(folder);
    const Network network = read_network(ModelLayout{folder});
    cell.set = set;
    cell.report = compared_report(network.job, folder, results);
    cell.scores.push_back(result_of(results, cell.report));
    cell.parameters = network.graph(true).parameter_count();
    cell.tokens_per_second += speed_of_run(folder);
  }

  static void summarize(const std::vector<double>& finished, ComparedCell& cell) {
    const auto n = static_cast<double>(finished.size());
    cell.tokens_per_second /= std::max(1.0, n);
    cell.mean = mean_of_scores(finished);
    double squares = 0;
    for (const double score : finished) squares += (score - cell.mean) * (score - cell.mean);
    cell.deviation = std::sqrt(squares / (n - 1));  // NaN for one
  }

  void test_significance(const std::vector<std::vector<ScoredSet>>& scored, std::size_t first) {
    for (std::size_t v = 0; v < scored.size(); ++v) cells_[first + v].p_value = std::numeric_limits<double>::quiet_NaN();
    for (const auto& runs : scored) {
      if (runs.empty()) return;
      for (const ScoredSet& run : runs) {
        if (run.examples.empty() || run.examples.size() != scored.front().front().examples.size()) return;
      }
    }
    const std::vector<std::vector<double>> drawn = draw_samples(scored, request_.samples);
    for (std::size_t v = 1; v < scored.size(); ++v) {
      const double difference = std::abs(cells_[first + v].mean - cells_[first].mean);
      // Equal scores give no reason to think that they differ.
      cells_[first + v].p_value = difference == 0 ? 1 : bootstrap_p_value(drawn[0], drawn[v], difference);
    }
  }

  const CompareRequest& request_;
  std::vector<ComparedCell> cells_;
  bool diverged_ = false;
};

}  // namespace

std::string comparison_note(std::int64_t seeds, std::int64_t samples) {
  const std::string of_seeds =
      seeds == 1 ? "of one seed" : fmt::format("the mean of {} seeds and the standard deviation over them", seeds);
  return fmt::format(
      "score: {}. p: the p-value of the difference from the first variant of the task (paired bootstrap with {} samples, which "
      "can show no smaller one than {:.2g}).",
      of_seeds, samples, 1 / static_cast<double>(samples + 1));
}

std::string comparison_text(const std::vector<ComparedCell>& cells, const std::string& note) {
  const std::vector<std::vector<std::string>> rows = table_rows(cells, " +- ");
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], code_points(row[c]).size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += c < 3 ? fmt::format("{:<{}}  ", row[c], widths[c]) : fmt::format("{:>{}}  ", row[c], widths[c]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text + note + "\n";
}

std::string comparison_latex(const std::vector<ComparedCell>& cells, const std::string& note) {
  const auto safe = [](const std::string& text) {
    std::string out;
    for (const char c : text)
      out += std::string_view("_%&#$").find(c) != std::string_view::npos ? std::string("\\") + c : std::string(1, c);
    return out;
  };
  std::string text = "% " + note + "\n\\begin{tabular}{lllrrrr}\n\\hline\n";
  const std::vector<std::vector<std::string>> rows = table_rows(cells, " $\\pm$ ");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const std::string cell = rows[r][c] == "–" ? "--" : c == 3 && r > 0 ? rows[r][c] : safe(rows[r][c]);
      text += (c == 0 ? "" : " & ") + cell;
    }
    text += r == 0 ? " \\\\\n\\hline\n" : " \\\\\n";
  }
  return text + "\\hline\n\\end{tabular}\n";
}

ExitCode compare(const CompareRequest& request) { return Comparison(request).run(); }

}  // namespace graphrun
