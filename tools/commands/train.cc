// graphrun train JOB --out DIR
#include "tools/train/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compiler/frontend/source.h"
#include "runtime/device/cuda_library.h"
#include "tools/commands/command_line.h"
#include "tools/job/defaults.h"
#include "tools/job/job.h"
#include "tools/processes/devices.h"
#include "tools/processes/processes.h"
#include "tools/run/start_record.h"
#include "tools/runs/seeds.h"
#include "tools/runs/trial.h"
#include "tools/validate/validate.h"

namespace graphrun {
namespace {

// A job with mistakes is not trained. It is then read like `graphrun check` does, to report the mistakes in its graph and data
// too.
LoadedJob sound_job(const TrainRequest& request) {
  try {
    LoadedJob job = parse_job(request.text, request.job, request.settings);
    require_training(job);
    return job;
  } catch (const UserError& error) {
    throw UserError(error.exit_code(), with_all_mistakes(error.diagnostics(), request.text, request.job, request.settings));
  }
}

ExitCode train_together(const Arguments& arguments, Communicator* together) {
  po::options_description group("training", 100);
  group.add_options()("out", po::value<std::string>()->value_name("DIR"),
                      "the folder for the model; a folder that contains a run is refused")("resume",
                                                                                           "continue the run in that folder")(
      "begin-or-resume", "continue the run in that folder, or begin one if there is none: for jobs that a scheduler requeues")(
      "seed", po::value<std::string>()->value_name("N"), "replaces the job's train.seed")(
      "seeds", po::value<std::string>()->value_name("N,N,..."),
      "train one run per seed, in DIR/seed-N; print a table with mean and deviation, also to DIR/seeds.json")(
      "tensorboard", "also write metrics as TensorBoard event files, in DIR/tensorboard")(
      "profile", po::value<std::string>()->value_name("FILE"),
      "measure the time of every node of the training step: write a trace for chrome://tracing or Perfetto to FILE, and "
      "the nodes that take the most time to stderr")(
      "try", po::value<std::string>()->value_name("N"),
      "make N updates and one validation, print the time and memory that the whole run needs, and write no files; "
      "needs no --out")("dump-job", "print the job with the values of --set and all defaults; needs no --out")(
      "device", po::value<std::string>()->default_value("auto")->value_name("NAME"), kDeviceOfEachHelp)(
      "processes", po::value<std::string>()->value_name("N"),
      "train with N processes on this machine, which share the batches of each update and write the same files as one "
      "process; runs mpirun; with --device cuda:all, as many as there are GPUs unless N is given")(
      "silence", po::value<std::string>()->value_name("SECONDS"),
      "with several processes, after how many seconds without an answer a process counts as lost; default 60");
  CommandLine line;
  line.usage = "graphrun train JOB --out DIR [option ...]";
  line.about =
      "Trains a network as the job says, and writes everything that graphrun infer and evaluate need, and metrics.jsonl, to "
      "DIR.\n"
      "The run ends after the job's train.epochs, updates or hours, whichever comes first. DIR/train.log contains the log,\n"
      "DIR/speed.jsonl the speed and the memory.\n"
      "SIGINT, SIGTERM or SIGUSR1 saves a checkpoint and stops; --resume continues with the results of an uninterrupted run.\n"
      "Signals within two seconds of the first count as one. A later signal ends the run at once, but during a save it is\n"
      "only reported, and the next one ends the run. --resume then continues from the last checkpoint, or starts again if\n"
      "there is none.";
  line.examples = {"graphrun train graphs/jobs/segment_quick.pbtxt --out build/segmenter",
                   "graphrun train job.pbtxt --set train.epochs=3 --set cell=cells/lstm.pbtxt --out run --resume",
                   "graphrun train job.pbtxt --try 50"};
  line.words = {{"JOB"}};
  line.groups.push_back(group);
  line.groups.push_back(set_option());
  const std::optional<po::variables_map> options = parse(line, arguments);
  if (!options) return ExitCode::kDone;

  TrainRequest request;
  request.job = option<std::string>(*options, "JOB");
  request.out = option<std::string>(*options, "out");
  const std::string processes = option<std::string>(*options, "processes"), silence = option<std::string>(*options, "silence");
  if (!silence.empty() && !parse_silence(silence)) {
    throw UsageError("--silence takes a number of seconds above 0, found '" + silence + "'");
  }
  const bool dump = options->count("dump-job") != 0, tries = options->count("try") != 0;
  if (request.out.empty() && !dump && !tries) throw UsageError("--out DIR is missing: where the model goes");
  while (request.out.size() > 1 && request.out.back() == '/') request.out.pop_back();
  request.settings = option<std::vector<std::string>>(*options, "set");
  if (const auto seed = seed_option(*options)) request.settings.push_back("train.seed=" + std::to_string(*seed));
  request.text = read_source(request.job);
  request.command = {"graphrun", "train"};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  if (dump) {
    LoadedJob job = sound_job(request);
    fill_defaults(job.message);
    fmt::print("{}", dump_job(job, true));
    return ExitCode::kDone;
  }
  const bool resumes = options->count("resume") != 0, either = options->count("begin-or-resume") != 0;
  if (resumes && either) throw UsageError("--resume and --begin-or-resume do not go together");
  request.begin = resumes ? RunFolder::Begin::kResume : either ? RunFolder::Begin::kEither : RunFolder::Begin::kNew;
  request.tensorboard = options->count("tensorboard") != 0;
  request.profile = option<std::string>(*options, "profile");
  if (request.profile == "-") throw UsageError("--profile takes a file: stdout has the model's figures");
  request.quiet = options->count("quiet") != 0;
  request.together = together;
  request.warnings = share_cores(*options, together);
  const std::string seeds = option<std::string>(*options, "seeds");
  if (!seeds.empty() && options->count("seed") != 0) throw UsageError("--seed and --seeds do not go together");
  if (!seeds.empty() && !request.profile.empty())
    throw UsageError("--profile and --seeds do not go together: a profile is of one run");
  if (!processes.empty() && together != nullptr && whole_number("--processes", processes) != together->size()) {
    throw UsageError(fmt::format("--processes {}, but a launcher started {}", processes, together->size()));
  }
  std::string device = option<std::string>(*options, "device");
  int wanted = processes.empty() ? 1 : whole_number("--processes", processes);
  if (together == nullptr && device == kAllDevices) {
    if (processes.empty()) wanted = cuda_device_count();
    if (wanted == 1) device = "cuda";
  }
  const bool several = together != nullptr || wanted > 1;
  if (several && tries) throw UsageError("--try works with one process only");
  if (several && !seeds.empty()) throw UsageError("--seeds trains one run after another, each with one process");
  if (several && together == nullptr) {
    Arguments words = {"train"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return launch(wanted, words);
  }
  // Under auto, a run stays on the kind of device on which it began: another would give other bits.
  const bool continues = request.begin != RunFolder::Begin::kNew && began_on_cpu(request.out);
  request.device = &parse_device(device, continues, together);
  if (tries) {
    for (const char* other : {"resume", "begin-or-resume", "seeds", "tensorboard", "profile"})
      if (options->count(other) != 0)
        throw UsageError(fmt::format("--try and --{} do not go together: a trial begins a new run and leaves no files", other));
    const std::int64_t updates = whole_number("--try", option<std::string>(*options, "try"));
    sound_job(request);
    return try_training(request, updates);
  }
  const std::vector<std::uint64_t> each = seeds.empty() ? std::vector<std::uint64_t>() : parse_seeds(seeds);
  sound_job(request);
  return seeds.empty() ? train(request) : train_seeds(request, each);
}

}  // namespace

ExitCode run_train(const Arguments& arguments) {
  return in_processes("train", silence_of(arguments),
                      [&](Communicator* together) { return train_together(arguments, together); });
}

}  // namespace graphrun
