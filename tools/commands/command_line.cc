#include "tools/commands/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>

#include "runtime/base/processor.h"
#include "runtime/base/suggestion.h"
#include "runtime/device/cuda_library.h"
#include "runtime/threads/threads.h"
#include "tools/help/topics.h"
#include "tools/processes/devices.h"
#include "tools/processes/same.h"

namespace graphrun {
namespace {

constexpr unsigned kColumns = 100;  // width of help

constexpr const char* kTooMany = "one too many";  // no option that a user can write

// "'check' takes one FILE": the words of a command that takes a fixed number.
std::string words_of_usage(const CommandLine& line) {
  std::istringstream usage(line.usage);
  std::string command;
  usage >> command;
  if (command == "graphrun") usage >> command;
  std::vector<std::string> names;
  for (const CommandLine::Word& word : line.words) names.push_back(word.name);
  if (names.empty()) return fmt::format("'{}' takes options only", command);
  return fmt::format("'{}' takes {}{}", command, names.size() == 1 ? "one " : "", fmt::join(names, " and "));
}

void print_help(const CommandLine& line) {
  std::ostringstream text;
  text << "usage: " << line.usage << "\n\n" << line.about << "\n";
  for (const po::options_description& group : line.groups) text << "\n" << group;
  text << "\n" << general_options();
  if (!line.examples.empty()) text << "\nexamples:\n";
  for (const std::string& example : line.examples) text << "  " << example << "\n";
  fmt::print("{}", text.str());
}

// The hint for "--epochs 3" if jobs have fields of this name: how to set one.
std::string set_instead(const std::string& name, const Arguments& arguments) {
  std::vector<SchemaField> fields = fields_named(Schema::kJob, name);
  std::erase_if(fields, [](const SchemaField& field) { return field.is_message; });
  if (fields.size() > 3) return fmt::format("`graphrun help {}` lists the fields of that name, which --set takes", name);
  std::string value = "VALUE";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--" + name + "=")) value = arguments[i].substr(name.size() + 3);
    if (arguments[i] == "--" + name && i + 1 < arguments.size() && !arguments[i + 1].starts_with("--"))
      value = arguments[i + 1];
  }
  std::vector<std::string> settings;
  for (const SchemaField& field : fields) settings.push_back(fmt::format("--set {}={}", field.path, value));
  return suggestion(settings);
}

}  // namespace

po::options_description general_options() {
  po::options_description group("general", kColumns);
  group.add_options()("help,h", "print this and exit")("quiet,q", "print only errors and warnings")(
      "threads", po::value<std::string>()->value_name("N"), "the number of threads; default: the number of cores");
  return group;
}

po::options_description set_option() {
  po::options_description group("settings", kColumns);
  group.add_options()(
      "set", po::value<std::vector<std::string>>()->value_name("NAME=VALUE"),
      "an arg, import or size of the graph, an arg of an import by its path (decoder.depth=2), or a field of the job by its "
      "path (train.epochs=3); may be repeated");
  return group;
}

std::optional<po::variables_map> parse(const CommandLine& line, const Arguments& arguments) {
  po::options_description all;
  for (const po::options_description& group : line.groups) all.add(group);
  all.add(general_options());
  po::positional_options_description positions;
  bool several = false;
  for (const CommandLine::Word& word : line.words) {
    if (word.many) {
      all.add_options()(word.name.c_str(), po::value<std::vector<std::string>>());
    } else {
      all.add_options()(word.name.c_str(), po::value<std::string>());
    }
    positions.add(word.name.c_str(), word.many ? -1 : 1);
    several = several || word.many;
  }
  if (!several) {  // takes what is too much
    all.add_options()(kTooMany, po::value<std::vector<std::string>>());
    positions.add(kTooMany, -1);
  }
  // The hint for a field of the job that is used as an option.
  const bool sets_fields = std::any_of(line.words.begin(), line.words.end(),
                                       [](const CommandLine::Word& word) { return word.name == "JOB" || word.name == "FILE"; });
  OptionHint hint;
  if (sets_fields && all.find_nothrow("set", false) != nullptr)
    hint = [&](const std::string& name) { return set_instead(name, arguments); };
  po::variables_map options = parse_options(arguments, all, positions, hint);
  if (options.count("help") != 0) {
    print_help(line);
    return std::nullopt;
  }
  if (options.count(kTooMany) != 0)
    throw UsageError(
        fmt::format("{}; '{}' is one too many", words_of_usage(line), options[kTooMany].as<std::vector<std::string>>()[0]));
  for (const CommandLine::Word& word : line.words) {
    if (word.needed && options.count(word.name) == 0) throw UsageError(fmt::format("{} is missing: {}", word.name, line.usage));
  }
  set_threads(options.count("threads") != 0 ? whole_number("--threads", options["threads"].as<std::string>()) : threads());
  return options;
}

std::int32_t whole_number(const std::string& option, const std::string& text) {
  std::int32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < 1)
    throw UsageError(fmt::format("{} takes a whole number from 1, found '{}'", option, text));
  return number;
}

std::vector<Diagnostic> share_cores(const po::variables_map& options, Communicator* together) {
  if (together == nullptr) return {};
  SharedCores cores = shared_cores(*together);
  if (options.count("threads") == 0) set_threads(std::max(1, core_count() / cores.sharing));
  divide_cores(cores, threads());
  return std::move(cores.warnings);
}

std::optional<std::uint64_t> seed_option(const po::variables_map& options) {
  if (options.count("seed") == 0) return std::nullopt;
  const std::string text = options["seed"].as<std::string>();
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc() || stop != end) {
    throw UsageError(fmt::format("--seed takes a whole number from 0 to 2^64 - 1, found '{}'", text));
  }
  return seed;
}

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::uint64_t seed = 0;
    const auto [stop, error] = std::from_chars(at, end, seed);
    const bool again = std::find(seeds.begin(), seeds.end(), seed) != seeds.end();
    if (error != std::errc() || again || (stop != end && *stop != ',')) {
      throw UsageError("--seeds takes different whole numbers from 0 to 2^64 - 1 with commas between them, found '" + text +
                       "'");
    }
    seeds.push_back(seed);
    if (stop == end) return seeds;
    at = stop + 1;
  }
}

std::vector<GraphRequest::Setting> set_bindings(const po::variables_map& options) {
  std::vector<GraphRequest::Setting> bindings;
  for (const std::string& text : option<std::vector<std::string>>(options, "set")) bindings.push_back(parse_set(text));
  return bindings;
}

const Device& parse_device(std::string_view name, bool needs_cpu, const Communicator* together) {
  if (name == kAllDevices) return own_device(together);
  if (name == "auto" && !needs_cpu && together == nullptr) {
    if (const Device* const gpu = gpu_or_null()) return *gpu;
  }
  if (name == "cpu" || name == "auto") {
    if (!may_write_code()) {
      const Diagnostic warning{
          Severity::kWarning,
          "E0512 no-run-time-code",
          {},
          "this system does not let programs execute code that they generate: precompiled kernels are used, "
          "which are slower",
          {"help: allow it: MemoryDenyWriteExecute=no for systemd, execmem for SELinux"}};
      fmt::print(stderr, "{}", render(warning));
    }
    return cpu_device();
  }
  int ordinal = name == "cuda" ? 0 : -1;
  if (name.starts_with("cuda:")) {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + 5, end, ordinal);
    if (error != std::errc() || stop != end) ordinal = -1;
  }
  if (ordinal < 0) {
    throw UserError(ExitCode::kUsage, "E0508 no-device", fmt::format("there is no device '{}'", name),
                    {"help: devices: cpu, cuda, cuda:N (the GPUs, counted from 0), cuda:all (a GPU for each process), auto"});
  }
  return cuda_device(ordinal);
}

namespace {

// Jobs write these names in capitals, the command line in small letters; both are accepted.
std::string in_small_letters(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

}  // namespace

ProductPrecision parse_product_precision(const std::string& name) {
  const std::string lower = in_small_letters(name);
  if (lower == "float32") return ProductPrecision::kFloat32;
  if (lower == "tf32") return ProductPrecision::kTf32;
  if (lower == "bfloat16") return ProductPrecision::kBFloat16;
  throw UsageError("--product-precision takes float32, tf32 or bfloat16, not '" + name + "'");
}

std::optional<WeightForm> weights_option(const po::variables_map& options) {
  if (options.count("weights") == 0) return std::nullopt;
  const auto name = options["weights"].as<std::string>();
  const std::map<std::string, WeightForm> forms = {
      {"float32", WeightForm::kFloat32}, {"bfloat16", WeightForm::kBFloat16}, {"int8", WeightForm::kInt8}};
  const auto form = forms.find(in_small_letters(name));
  if (form == forms.end()) throw UsageError("--weights takes float32, bfloat16 or int8, not '" + name + "'");
  return form->second;
}

const Device& device_for(const po::variables_map& options, const LoadedJob& job, const Communicator* together) {
  const bool rounds = std::any_of(job.infer.begin(), job.infer.end(),
                                  [](const InferSpec& mode) { return mode.weights != WeightForm::kFloat32; });
  const Device& device = parse_device(option<std::string>(options, "device"), rounds, together);
  if (rounds && options.count("weights") != 0 && !device.is_cpu())
    throw UsageError("--weights works only on the CPU: leave out --weights or --device");
  return device;
}

}  // namespace graphrun
