// graphrun compare JOB … --vary NAME=A,B --seeds N,N --out DIR
#include "tools/runs/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "compiler/frontend/source.h"
#include "tools/commands/command_line.h"
#include "tools/job/job.h"
#include "tools/validate/validate.h"

namespace graphrun {
namespace {

std::vector<std::string> values_of_vary(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;  // of brackets: cells/stacked.pbtxt(cell = cells/lstm.pbtxt, depth = 2) is one part
  for (const char c : text) {
    depth += c == '(';
    depth -= c == ')';
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// A folder's name for a value: "lstm" for cells/lstm.pbtxt, otherwise its letters, digits, '.', '-' and '='.
std::string folder_name(const std::string& value) {
  const std::filesystem::path path(value);
  if (path.extension() == ".pbtxt") return path.stem().string();
  std::string name;
  for (const char c : value) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '=';
    name += plain ? c : '_';
  }
  return name;
}

// "cell=a.pbtxt,cells/lstm.pbtxt", once or several times: every combination.
std::vector<ComparedVariant> variants_of(const std::vector<std::string>& varied) {
  std::vector<ComparedVariant> variants = {{"", {}}};
  for (const std::string& text : varied) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      throw UsageError("--vary takes NAME=VALUE,VALUE,…, found '" + text + "'");
    const std::string name = text.substr(0, equals);
    std::vector<ComparedVariant> all;
    for (const ComparedVariant& variant : variants) {
      for (const std::string& value : values_of_vary(text.substr(equals + 1))) {
        if (value.empty()) throw UsageError("--vary takes NAME=VALUE,VALUE,…, found '" + text + "'");
        ComparedVariant more = variant;
        const std::string own = varied.size() > 1 && folder_name(value) == value ? name + "-" + value : folder_name(value);
        more.name += (more.name.empty() ? "" : "-") + own;
        more.settings.push_back(name + "=" + value);
        all.push_back(std::move(more));
      }
    }
    variants = std::move(all);
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (variants[i].name == variants[j].name)
        throw UsageError(fmt::format("two variants of --vary would be called '{}'", variants[i].name));
    }
  }
  return variants;
}

// Checks the job with a variant's settings as `graphrun check` does.
void check_variant(const ComparedTask& task, const ComparedVariant& variant, std::vector<std::string> settings) {
  settings.insert(settings.end(), variant.settings.begin(), variant.settings.end());
  try {
    require_training(load_job(task.job, settings));
    std::vector<Diagnostic> shown_by_the_run;
    validate_job(read_source(task.job), task.job, settings, shown_by_the_run);
  } catch (const UserError& error) {
    std::vector<Diagnostic> problems = error.diagnostics();
    problems.back().notes.push_back(fmt::format("note: with {}", fmt::join(variant.settings, " ")));
    throw UserError(error.exit_code(), std::move(problems));
  }
}

}  // namespace

ExitCode run_compare(const Arguments& arguments) {
  po::options_description group("the comparison", 100);
  group.add_options()("vary", po::value<std::vector<std::string>>()->value_name("NAME=A,B,..."),
                      "the values that a setting takes in turn; repeated: every combination. The first is the baseline")(
      "seeds", po::value<std::string>()->default_value("1")->value_name("N,N,..."),
      "train each variant with each of these seeds")("out", po::value<std::string>()->value_name("DIR"),
                                                     "the folder for runs and tables")(
      "samples", po::value<std::string>()->default_value("1000")->value_name("N"),
      "the number of bootstrap samples of all examples")(
      "device", po::value<std::string>()->default_value("auto")->value_name("NAME"), kDeviceHelp);
  CommandLine line;
  line.usage = "graphrun compare JOB ... --vary NAME=A,B --out DIR [option ...]";
  line.about =
      "Trains every variant of every job with every seed, in DIR/JOB/VARIANT/seed-N, and prints a row for each job and "
      "variant:\n"
      "the mean of the report that selects the job's model and its deviation over the seeds, the p-value of its difference\n"
      "from the first variant (paired bootstrap over the test data), parameters, and tokens per second of training.\n"
      "DIR/compare.txt, .tex, .html and .json have the same. After any end, even a kill, the same command continues.";
  line.examples = {
      "graphrun compare graphs/jobs/segment_quick.pbtxt --vary cell=cells/lstm.pbtxt,janet.pbtxt --seeds 1,2,3 --out "
      "build/compare",
      "graphrun compare a.pbtxt b.pbtxt --vary cell=cells/atr.pbtxt,cells/gru.pbtxt --vary hidden=100,200 --out build/compare"};
  line.words = {{"JOB", true, true}};
  line.groups.push_back(group);
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  CompareRequest request;
  request.out = option<std::string>(*options, "out");
  if (request.out.empty()) throw UsageError("--out DIR is missing: where runs and tables go");
  request.variants = variants_of(option<std::vector<std::string>>(*options, "vary"));
  if (request.variants.size() < 2) throw UsageError("--vary NAME=A,B is missing: what to compare");
  request.seeds = parse_seeds(option<std::string>(*options, "seeds"));
  request.samples = whole_number("--samples", option<std::string>(*options, "samples"));
  request.settings = option<std::vector<std::string>>(*options, "set");
  request.command = {"graphrun", "compare"};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  request.quiet = options->count("quiet") != 0;
  for (const std::string& job : option<std::vector<std::string>>(*options, "JOB")) {
    const std::string name = std::filesystem::path(job).stem().string();
    for (const ComparedTask& other : request.tasks) {
      if (other.name == name) throw UsageError(fmt::format("two jobs are called '{}': their runs would share a folder", name));
    }
    request.tasks.push_back({name, job});
  }
  // Every mistake is reported before anything is trained.
  for (const ComparedTask& task : request.tasks) {
    for (const ComparedVariant& variant : request.variants) check_variant(task, variant, request.settings);
  }
  request.device = &parse_device(option<std::string>(*options, "device"));
  return compare(request);
}

}  // namespace graphrun
