// Models' folders, which are loaded and run on lines, and checkpoints, which are resumed. After most changes, hashes are
// corrected.
#include <filesystem>

#include "tests/mutants/bytes.h"
#include "tests/mutants/kinds.h"
#include "tests/mutants/manifests.h"
#include "tests/mutants/text.h"
#include "tests/mutants/trained.h"
#include "tools/model/inference.h"
#include "tools/model/loaded_models.h"

namespace graphrun::mutants {
namespace {

namespace fs = std::filesystem;

// In addition to the changed files.
const std::string kNetwork = "of_network";  // the name of the run into which the changed files are put
const std::string kRemoved = "removed";     // paths of files to remove from it, one per line

class Runs : public Kind {
 public:
  Runs(const std::string& folder, Children& children) : folder_(folder) {
    train_all(folder, children);
    for (const std::string& name : trained_names()) {
      Files files = read_files(folder + "/" + name);
      for (const char* left : {"run.lock", "starts.jsonl", "speed.jsonl", "train.log"}) files.erase(left);
      for (const auto& [path, bytes] : files)
        if (path.ends_with(".pbtxt")) parts_.add(bytes);
      runs_[name] = with_marks(std::move(files));
    }
  }

  Files mutant(tests::Draw& random) const override {
    const std::string& network = any_trained(random);
    const Files& whole = runs_.at(network);
    std::vector<std::string> paths;
    for (const auto& [path, bytes] : whole)
      if (changes(path)) paths.push_back(path);
    Files files = {{kNetwork, network}};
    do {
      const std::string& path = random.any(paths);
      const std::string bytes = files.count(path) != 0 ? files.at(path) : whole.at(path);
      if (random.one_in(25)) {
        files[kRemoved] += path + "\n";
      } else if (random.one_in(25)) {
        files[path] = whole.at(random.any(paths));
      } else {
        files[path] = path.ends_with(".pbtxt") ? parts_.mutated(bytes, random) : mutated_file(path, bytes, random);
      }
    } while (random.one_in(4));
    return files;
  }

  void run(const Files& files) const override {
    const auto network = files.find(kNetwork);
    if (network == files.end() || runs_.count(network->second) == 0) return;
    Files all = runs_.at(network->second);
    for (const auto& [path, bytes] : files)
      if (path != kNetwork && path != kRemoved) all[path] = bytes;
    if (const auto removed = files.find(kRemoved); removed != files.end())
      std::erase_if(
          all, [&](const auto& file) { return ("\n" + removed->second).find("\n" + file.first + "\n") != std::string::npos; });
    const std::string place = folder_ + "/mutant";
    fs::remove_all(place);
    write_files(place, with_hashes(std::move(all)));
    take_in(network->second, place);
  }

 protected:
  virtual bool changes(const std::string& path) const = 0;
  virtual void take_in(const std::string& network, const std::string& place) const = 0;

  const std::string folder_;

 private:
  TextParts parts_;
  std::map<std::string, Files> runs_;
};

class Models : public Runs {
 public:
  Models(const std::string& folder, Children& children) : Runs(folder, children) {
    write_files(folder, {{"lines", "a dog sat\nuno dos\n我 天上\n"}, {"conll", "a\tD\ndog\tN\n"}});
  }

 private:
  bool changes(const std::string& path) const override { return !path.starts_with("checkpoints/") && path != "metrics.jsonl"; }
  void take_in(const std::string&, const std::string& place) const override {
    const Model model = open_model(place, {});
    const bool conll = !model.network.job.infer.empty() && model.network.job.data.format == Format::kConll;
    infer(model.network, model.parameters, std::make_unique<LineReader>(folder_ + (conll ? "/conll" : "/lines")), {});
  }
};

class Checkpoints : public Runs {
 public:
  using Runs::Runs;

 private:
  bool changes(const std::string& path) const override {
    return path.starts_with("checkpoints/") || path.starts_with("best/") || path == "metrics.jsonl";
  }
  void take_in(const std::string& network, const std::string& place) const override {
    resume(folder_ + "/" + network + ".pbtxt", place);
  }
};

}  // namespace

std::unique_ptr<Kind> make_models(const std::string& folder, Children& children) {
  return std::make_unique<Models>(folder, children);
}
std::unique_ptr<Kind> make_checkpoints(const std::string& folder, Children& children) {
  return std::make_unique<Checkpoints>(folder, children);
}

}  // namespace graphrun::mutants
