// mutants --kind graph|job|model|checkpoint|data|infer|pieces --first SEED --count N --seconds S --save FOLDER
// mutants --replay FOLDER
//
// Mutates valid inputs of one kind, one mutant per seed, and reads each as the programs do, in a forked child with limits on
// processor time and memory. The allowed outcomes are success, or a UserError with a code and a text. Anything else is a find:
// it is minimized and written to FOLDER/KIND/CAUSE-SEED/, with its output next to it in CAUSE-SEED.txt; the program then exits
// with 1. --replay reads every KIND/NAME/ of a folder, such as tests/mutants/corpus.
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>

#include "runtime/threads/threads.h"
#include "tests/mutants/kinds.h"
#include "tests/mutants/minimize.h"
#include "tools/cli/program.h"

namespace graphrun::mutants {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kAtATime = 512;
constexpr int kMostOfACause = 3;  // finds written per cause
constexpr double kSecondsToMinimize = 40;
constexpr double kSecondsBetweenReports = 20;

// A folder in memory if possible, because thousands of mutants are written.
class WorkFolder {
 public:
  WorkFolder() {
    const fs::path shared = "/dev/shm";
    std::string name = ((fs::is_directory(shared) ? shared : fs::temp_directory_path()) / "graphrun-mutants-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

const NamedKind& kind_named(const std::string& name) {
  for (const NamedKind& kind : kinds())
    if (kind.name == name) return kind;
  throw UsageError("--kind takes graph, job, model, checkpoint, data, infer or pieces, found '" + name + "'");
}

double seconds_since(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

class Hunt {
 public:
  Hunt(const NamedKind& kind, std::string save)
      : name_(kind.name),
        save_(std::move(save)),
        children_(limits_of_this_build()),
        kind_(kind.make(work_.path(), children_)) {}

  // Returns the number of finds.
  std::size_t run(std::uint64_t first, std::uint64_t count, double seconds) {
    kind_->prepare();
    const Clock::time_point begun = Clock::now();
    double reported = 0;
    for (std::uint64_t done = 0; done < count && seconds_since(begun) < seconds;) {
      const std::size_t some = std::min<std::uint64_t>(kAtATime, count - done);
      const std::vector<Outcome> outcomes = children_.run(some, [&](std::size_t i) { kind_->run(of_seed(first + done + i)); });
      for (std::size_t i = 0; i < some; ++i) note(first + done + i, outcomes[i]);
      done += some;
      if (seconds_since(begun) - reported > kSecondsBetweenReports) {
        reported = seconds_since(begun);
        report(first, done, reported);
      }
    }
    report(first, accepted_ + refused_ + finds_, seconds_since(begun));
    std::vector<std::pair<std::size_t, std::string>> codes;
    for (const auto& [code, times] : codes_) codes.emplace_back(times, code);
    std::sort(codes.rbegin(), codes.rend());
    for (const auto& [times, code] : codes) fmt::print("  {:7} {}\n", times, code);
    return finds_;
  }

  // Replays each folder of a corpus; returns the number of finds.
  std::size_t replay(const std::string& corpus) {
    std::vector<fs::path> cases;
    for (const auto& entry : fs::directory_iterator(corpus))
      if (entry.is_directory()) cases.push_back(entry.path());
    std::sort(cases.begin(), cases.end());
    std::vector<Files> files;
    for (const fs::path& path : cases) files.push_back(read_files(path.string()));
    const std::vector<Outcome> outcomes = children_.run(cases.size(), [&](std::size_t i) { kind_->run(files[i]); });
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Outcome& outcome = outcomes[i];
      finds_ += outcome.is_find() ? 1 : 0;
      fmt::print("{} {}: {}\n", name_, cases[i].filename().string(),
                 outcome.ended == Ended::kAccepted ? "accepted" : (outcome.is_find() ? "FIND: " : "") + outcome.text);
    }
    return finds_;
  }

 private:
  Files of_seed(std::uint64_t seed) const {
    tests::Draw random(seed);
    return kind_->mutant(random);
  }

  void report(std::uint64_t first, std::uint64_t done, double seconds) const {
    const auto all = static_cast<double>(done);
    fmt::print("{}: {} mutants from seed {}: {} accepted ({:.0f} %), {} refused, {} finds of {} causes; {:.0f} a second\n",
               name_, done, first, accepted_, 100 * static_cast<double>(accepted_) / all, refused_, finds_, causes_.size(),
               all / seconds);
    std::fflush(stdout);
  }

  void note(std::uint64_t seed, const Outcome& outcome) {
    if (outcome.ended == Ended::kAccepted) ++accepted_;
    if (outcome.ended == Ended::kRefused) ++refused_, ++codes_[outcome.text];
    if (outcome.is_find()) keep(seed, outcome);
  }

  // A find is run once more, alone in a new child: names and memory left by other mutants must not cause it. If it does not end
  // the same way alone, it is printed with its predecessors and not minimized. Predecessors could also hide a find; that is
  // left to chance, since the first mutant of each child has none.
  void keep(std::uint64_t seed, const Outcome& outcome) {
    ++finds_;
    const int times = ++causes_[outcome.where];
    if (times > kMostOfACause) return;
    fmt::print("{} seed {}: FIND: {}\n", name_, seed, outcome.text);
    std::fflush(stdout);
    Files files = of_seed(seed);
    const auto ends_alike = [&](const Files& tried) {
      const Outcome again = children_.run_one([&] { kind_->run(tried); });
      return again.ended == outcome.ended && again.where == outcome.where;
    };
    const bool repeats = ends_alike(files);
    if (!repeats) {
      const std::uint64_t begun = seed - outcome.before;
      const std::vector<Outcome> all =
          children_.run(outcome.before + 1, [&](std::size_t i) { kind_->run(of_seed(begun + i)); });
      const bool together = all.back().ended == outcome.ended && all.back().where == outcome.where;
      fmt::print("  it does not end so alone{}\n",
                 together ? fmt::format(", but behind all from seed {}", begun) : ", nor once more");
    }
    if (save_.empty()) return;
    // One find of each cause is minimized as far as possible; for timeouts, every trial takes long too.
    if (repeats && times == 1) files = minimized(files, ends_alike, kSecondsToMinimize);
    const std::string place = fmt::format("{}/{}/{}-{}", save_, name_, slug(outcome.where), seed);
    write_files(place, files);
    write_files(save_ + "/" + name_, {{fs::path(place).filename().string() + ".txt", outcome.text + "\n"}});
  }

  static std::string slug(const std::string& text) {
    std::string slug;
    for (const char c : text.substr(0, 50)) slug += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return slug;
  }

  const std::string name_, save_;
  const WorkFolder work_;
  Children children_;
  const std::unique_ptr<Kind> kind_;
  std::size_t accepted_ = 0, refused_ = 0, finds_ = 0;
  std::map<std::string, std::size_t> codes_;
  std::map<std::string, int> causes_;
};

int hunt(const std::vector<std::string>& arguments) {
  po::options_description options("options", 100);
  options.add_options()("help", "this")("kind", po::value<std::string>(),
                                        "graph, job, model, checkpoint, data, infer or pieces")(
      "first", po::value<std::uint64_t>()->default_value(1), "the first seed")(
      "count", po::value<std::uint64_t>()->default_value(1000), "seeds from it on")(
      "seconds", po::value<double>()->default_value(std::numeric_limits<double>::infinity(), "inf"),
      "start no mutant after this time")("save", po::value<std::string>()->default_value(""), "the folder for finds")(
      "replay", po::value<std::string>(), "a folder of KIND/NAME/ to take in instead; --kind says of which kind alone");
  const po::variables_map given = parse_options(arguments, options);
  if (given.count("help") != 0) {
    fmt::print("mutants --kind KIND [option ...]\nmutants --replay FOLDER [--kind KIND]\n");
    std::cout << options;
    return 0;
  }
  // A child of a multi-threaded process has none of its threads, and would wait for them.
  omp_set_dynamic(0);
  set_threads(1);
  std::size_t finds = 0;
  if (given.count("replay") != 0) {
    for (const NamedKind& kind : kinds()) {
      const std::string folder = given["replay"].as<std::string>() + "/" + kind.name;
      if (fs::is_directory(folder) && (given.count("kind") == 0 || given["kind"].as<std::string>() == kind.name))
        finds += Hunt(kind, "").replay(folder);
    }
    return finds == 0 ? 0 : 1;
  }
  if (given.count("kind") == 0) throw UsageError("--kind is missing");
  Hunt one(kind_named(given["kind"].as<std::string>()), given["save"].as<std::string>());
  finds = one.run(given["first"].as<std::uint64_t>(), given["count"].as<std::uint64_t>(), given["seconds"].as<double>());
  return finds == 0 ? 0 : 1;
}

}  // namespace
}  // namespace graphrun::mutants

int main(int count, char** words) {
  return graphrun::guarded("mutants", [&] {
    return static_cast<graphrun::ExitCode>(graphrun::mutants::hunt({words + 1, words + count}));
  });
}
