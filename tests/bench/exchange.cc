// The ordered sum of gradients over processes (runtime/communicator/) against MPI_Allreduce of the same library, and what is
// left of both after work during which they proceed. Both are launched in alternation; process 0's medians are compared.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>

#include "runtime/base/status.h"
#include "runtime/communicator/communicator.h"
#include "tests/bench/arguments.h"
#include "tests/bench/work.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

constexpr const char* kUsage =
    "usage: bench_exchange [--pairs N] [--times N] [--work MS] [--zeros PERCENT] [PROCESSES MB ...]\n"
    "\n"
    "Adds float32 arrays of MB million bytes over PROCESSES processes with each MPI library whose plug-in was built;\n"
    "default: 2 8 2 79 4 8 4 79. A launch adds N times (20), then a quarter as often in front of MS milliseconds (300)\n"
    "of work by one thread. --pairs (3): launches of both programs. --zeros: how many of the blocks of 64 elements\n"
    "consist of zeros (0). --sum ELEMENTS,TIMES,WORK,ZEROS is what it runs in each process: [--sum NUMBERS]\n";

// What each process does.
void sum(const std::string& numbers) {
  std::istringstream words(numbers);
  std::size_t elements = 0;
  int times = 0, work = 0, zeros = 0;
  char comma = 0;
  words >> elements >> comma >> times >> comma >> work >> comma >> zeros;
  Communicator together(this_launcher(), 60);
  together.introduce();
  OrderedSum ordered(together, elements);
  float* const array = ordered.numbers().data<float>();
  for (std::size_t i = 0; i < elements; ++i) {
    array[i] = i / 64 * 37 % 100 < static_cast<std::size_t>(zeros) ? 0.0f : 1e-6f * static_cast<float>(together.rank() + 1);
  }
  const auto begin = [&] {
    ordered.begin({0, together.size() - 1});
    ordered.ready(elements);
  };
  const auto end = [&] { ordered.finish(); };
  const auto add = [&] { begin(), end(); };
  const ExchangeTimes found = time_exchange(
      times, work, [&] { together.gather(""); }, add, begin, end);
  if (together.rank() == 0) fmt::print("{:.3f} {:.3f} {:.3f} {:.3f}\n", found.add, found.left, found.with_work, found.work);
}

ExchangeTimes launch(const std::string& library, std::int64_t processes, const std::string& program) {
  const std::string options = library == "openmpi" ? " -q --oversubscribe --bind-to none" : "";
  const std::string command = fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 mpirun.{}{} -np {} {}/{} </dev/null",
      library, options, processes, tests::build_folder(), program);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  ExchangeTimes found;
  const int read = std::fscanf(pipe.get(), "%lf %lf %lf %lf", &found.add, &found.left, &found.with_work, &found.work);
  if (read != 4) throw UserError(ExitCode::kRunFailed, "E0000 bench", "'" + command + "' fails");
  return found;
}

void compare(const BenchArguments& arguments) {
  std::vector<std::pair<std::int64_t, std::int64_t>> cases = {{2, 8}, {2, 79}, {4, 8}, {4, 79}};
  if (const std::vector<std::string>& words = arguments.rest(); !words.empty()) {
    cases.clear();
    if (words.size() % 2 != 0) throw UsageError("a case has two numbers: PROCESSES MB");
    for (std::size_t i = 0; i < words.size(); i += 2) {
      cases.emplace_back(BenchArguments::whole_number("PROCESSES", words[i]), BenchArguments::whole_number("MB", words[i + 1]));
    }
  }
  const std::int64_t pairs = arguments.number("--pairs", 3), times = arguments.number("--times", 20);
  const std::int64_t work = arguments.number("--work", 300), zeros = arguments.number("--zeros", 0);
  fmt::print(
      "library, processes, MB: ms of an ordered sum, of MPI_Allreduce, ratio; after {} ms of work, left of each, and the "
      "work's time with it by that alone\n",
      work);
  for (const std::string library : {"openmpi", "mpich"}) {
    if (!std::filesystem::exists(tests::build_folder() + "/mpi_peer_" + library)) continue;
    for (const auto& [processes, megabytes] : cases) {
      const std::int64_t elements = megabytes * 250000;
      std::vector<double> ours, theirs, ratios, left, their_left, slower, their_slower;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const ExchangeTimes a =
            launch(library, processes, fmt::format("bench_exchange --sum {},{},{},{}", elements, times, work, zeros));
        const ExchangeTimes b = launch(library, processes, fmt::format("mpi_peer_{} {} {} {}", library, elements, times, work));
        ours.push_back(a.add), theirs.push_back(b.add), ratios.push_back(a.add / b.add);
        left.push_back(a.left), their_left.push_back(b.left);
        slower.push_back(work == 0 ? 1 : a.with_work / a.work), their_slower.push_back(work == 0 ? 1 : b.with_work / b.work);
      }
      fmt::print("{} {} {}: {:.1f} {:.1f} {:.2f}; {:.1f} {:.1f}; {:.2f} {:.2f}\n", library, processes, megabytes,
                 median_of(ours), median_of(theirs), median_of(ratios), median_of(left), median_of(their_left),
                 median_of(slower), median_of(their_slower));
      std::fflush(stdout);
    }
  }
}

void run(const BenchArguments& arguments) {
  if (arguments.has("--sum")) {
    sum(arguments.value("--sum", ""));
  } else {
    compare(arguments);
  }
}

}  // namespace
}  // namespace graphrun

int main(int count, char** words) {
  return graphrun::bench_main("bench_exchange", graphrun::kUsage, count, words, graphrun::run);
}
