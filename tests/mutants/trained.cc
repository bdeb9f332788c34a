#include "tests/mutants/trained.h"

#include <stdexcept>

#include "tests/mutants/small_jobs.h"
#include "tools/train/train.h"

namespace graphrun::mutants {
namespace {

TrainRequest request_for(const std::string& job, const std::string& folder) {
  TrainRequest request;
  request.job = job;
  request.text = read_whole(job);
  request.out = folder;
  request.command = {"graphrun", "train"};
  request.quiet = true;
  request.print_results = false;
  return request;
}

}  // namespace

const std::vector<std::string>& trained_names() {
  static const std::vector<std::string> kNames = {"count", "speak", "tags", "words", "say", "segment", "label", "read"};
  return kNames;
}

const std::string& any_trained(tests::Draw& random) {
  constexpr std::size_t kSmall = 2;  // the number of small ones; they come first
  return random.one_in(20) ? random.any(trained_names()) : trained_names()[random.below(kSmall)];
}

void train_all(const std::string& folder, Children& children) {
  write_files(folder, small_data());
  for (const std::string& name : trained_names()) {
    const Outcome outcome = children.run_one([&] { train(request_for(folder + "/" + name + ".pbtxt", folder + "/" + name)); });
    if (outcome.ended != Ended::kAccepted) throw std::runtime_error("training " + name + " ends with: " + outcome.text);
  }
}

void resume(const std::string& job, const std::string& folder) {
  TrainRequest request = request_for(job, folder);
  request.begin = RunFolder::Begin::kResume;
  request.settings = {"train.epochs=2"};
  train(request);
}

}  // namespace graphrun::mutants
