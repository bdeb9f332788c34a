// Shared by the options of all commands: groups with help, positional words, --set, --threads.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "runtime/communicator/communicator.h"
#include "runtime/device/device.h"
#include "tools/cli/program.h"
#include "tools/commands/commands.h"
#include "tools/job/job.h"

namespace graphrun {

namespace po = boost::program_options;

// The words and options of a command, as its help shows them.
struct CommandLine {
  struct Word {
    std::string name;  // "JOB": its value is found under this name
    bool needed = true;
    bool many = false;  // only the last one: takes all words that follow
  };
  std::string usage;  // "graphrun train JOB --out DIR [option ...]"
  std::string about;
  std::vector<Word> words;
  std::vector<std::string> examples = {};  // command lines, shown last
  std::vector<po::options_description> groups;
};

// The group that every command has: --help, --quiet, --threads.
po::options_description general_options();

// Parses the options and sets the number of threads. Returns nullopt after printing help for --help. Throws UsageError.
std::optional<po::variables_map> parse(const CommandLine& line, const Arguments& arguments);

// The value of an option, or its default.
template <class T>
T option(const po::variables_map& options, const std::string& name, T otherwise = {}) {
  return options.count(name) != 0 ? options[name].as<T>() : otherwise;
}

// The value of an option that takes a whole number from 1. Throws UsageError.
std::int32_t whole_number(const std::string& option, const std::string& text);

// Among several processes of a machine that may use the same cores, each gets its share of threads, unless --threads says
// otherwise. Returns warnings (E0536), in process 0. `together`: null if there is only this process. Throws PeerEnd.
std::vector<Diagnostic> share_cores(const po::variables_map& options, Communicator* together);

// The number of --seed. The option is a text, because boost would read -1 as a large number. Throws UsageError.
std::optional<std::uint64_t> seed_option(const po::variables_map& options);

// The numbers of --seeds, "1,2,3": at least one, none twice. Throws UsageError.
std::vector<std::uint64_t> parse_seeds(const std::string& text);

// The bindings of every --set.
std::vector<GraphRequest::Setting> set_bindings(const po::variables_map& options);
po::options_description set_option();

// Opens "cpu", "cuda", "cuda:N", "cuda:all" (see own_device) or "auto": GPU 0 if there is one, unless the command `needs_cpu`
// or there are several processes; else the CPU. Throws UserError (kUsage, E0508) if the device is not available.
const Device& parse_device(std::string_view name, bool needs_cpu = false, const Communicator* together = nullptr);
inline constexpr const char* kDeviceHelp =
    "cpu, cuda, cuda:N (GPU N) or auto: GPU 0 if there is one and the other options do not need the CPU, else the CPU";
inline constexpr const char* kDeviceOfEachHelp =
    "cpu, cuda, cuda:N (GPU N), cuda:all (a GPU for each process) or auto: GPU 0 if there is one, there is one process and the "
    "other options do not need the CPU, else the CPU";

// "float32", "tf32" or "bfloat16". Throws UsageError.
ProductPrecision parse_product_precision(const std::string& name);

// The value of --weights, if given. Throws UsageError.
std::optional<WeightForm> weights_option(const po::variables_map& options);
// The device of --device for a model whose job has the value of --weights: only the CPU rounds weights, so `auto` takes it if a
// mode of the job does. Throws UsageError if --weights and --device do not go together, and what parse_device throws.
const Device& device_for(const po::variables_map& options, const LoadedJob& job, const Communicator* together);
inline constexpr const char* kWeightsHelp =
    "round the network's matrices on the CPU: bfloat16, int8 or float32 (no rounding); default: as in the job's infer block";
inline constexpr const char* kNoShortlistHelp = "for generation: search all words, even if the job has a shortlist";

}  // namespace graphrun
