// Lines for trained models: whatever they contain, the number of output lines equals the number of input lines.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>

#include "tests/mutants/bytes.h"
#include "tests/mutants/kinds.h"
#include "tests/mutants/trained.h"
#include "tools/model/inference.h"
#include "tools/model/loaded_models.h"

namespace graphrun::mutants {
namespace {

struct Mode {
  std::string network, name, lines;
  bool line_for_line;  // each input line gives one output line
};
constexpr std::size_t kQuick = 4;  // the number of modes with the smallest networks; they come first
const std::vector<Mode>& modes() {
  static const std::vector<Mode> kAll = {
      {"count", "score", "the cat sat\na dog\nx\n", true},
      {"speak", "say", "uno dos\nnada\n\ntres tres uno\n", true},
      {"speak", "look", "uno dos\tone two\ntres\tthree\n", false},
      {"speak", "worth", "uno dos\tone two\ntres\tthree\n", true},
      {"tags", "tag", "the cat sat\n\nthe bird\n", true},
      {"say", "say", "uno dos\nnada\n\ntres tres uno\n", true},
      {"say", "look", "uno dos\tone two\ntres\tthree\n", false},
      {"say", "worth", "uno dos\tone two\ntres\tthree\n", true},
      {"segment", "segment", "我 天上\n大家x\n", true},
      {"label", "tag", "the\tD\ncat\tN\n\na\tD\n", false},
      {"label", "line", "the cat\nthe x y\n", true},
      {"read", "score", "the cat sat\na dog\nx\n", true},
  };
  return kAll;
}

// The options in addition to the lines, as text: "mode=1 beam=3 …".
const std::string kOptions = "options", kLines = "lines", kBeside = "beside";

class Lines : public Kind {
 public:
  Lines(const std::string& folder, Children& children) : folder_(folder) {
    train_all(folder, children);
    for (const std::string& name : trained_names()) models_.emplace(name, open_model(folder + "/" + name, {}));
  }

  Files mutant(tests::Draw& random) const override {
    const std::size_t k = random.below(random.one_in(20) ? modes().size() : kQuick);
    Files files;
    std::string& options = files[kOptions] = "mode=" + std::to_string(k);
    files[kLines] = mutated_bytes(modes()[k].lines, random);
    const auto sometimes = [&](const char* name, std::initializer_list<const char*> values) {
      if (random.one_in(4)) options += " " + std::string(name) + "=" + std::data(values)[random.below(values.size())];
    };
    sometimes("rows", {"1", "2", "100"});
    sometimes("stop", {"1"});
    if (modes()[k].name == "say") {
      sometimes("beam", {"1", "2", "50"});
      sometimes("n_best", {"1", "3", "60"});
      sometimes("json", {"1"});
      sometimes("top_k", {"0", "1", "1000000"});
      sometimes("temperature", {"1", "1e-30", "1e30"});
      sometimes("seed", {"0", "18446744073709551615"});
      sometimes("prefix", {"1"});
      sometimes("force", {"1"});
      if (random.one_in(4)) files[kBeside] = mutated_bytes("one two\n\nthree\n", random);
    }
    return files;
  }

  void run(const Files& files) const override {
    std::map<std::string, std::string> given;
    std::istringstream words(files.count(kOptions) != 0 ? files.at(kOptions) : "");
    for (std::string word; words >> word;) given[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    const auto number = [&](const char* name) {
      return given.count(name) != 0 ? std::strtoll(given[name].c_str(), nullptr, 10) : 0;
    };
    const Mode& mode = modes()[static_cast<std::size_t>(number("mode")) % modes().size()];
    const std::string lines = files.count(kLines) != 0 ? files.at(kLines) : "";
    write_files(folder_, {{kLines, lines}, {kBeside, files.count(kBeside) != 0 ? files.at(kBeside) : "one\n"}});

    InferOptions options;
    options.mode = mode.name;
    options.rows = number("rows");
    options.stop_at_bad_lines = number("stop") != 0;
    GenerateOptions& generate = options.generate;
    generate.beam = number("beam");
    generate.n_best = number("n_best");
    generate.json = number("json") != 0;
    if (number("prefix") != 0) generate.prefix = folder_ + "/" + kBeside;
    if (number("force") != 0) generate.force = folder_ + "/" + kBeside;
    if (given.count("top_k") != 0) generate.top_k = number("top_k");
    if (given.count("temperature") != 0) generate.temperature = std::strtod(given["temperature"].c_str(), nullptr);
    if (given.count("seed") != 0) generate.seed = std::strtoull(given["seed"].c_str(), nullptr, 10);
    const Model& model = models_.at(mode.network);
    infer(model.network, model.parameters, std::make_unique<LineReader>(folder_ + "/" + kLines), options);
    if (mode.line_for_line && generate.n_best <= 1) expect_as_many_lines(lines);
  }

 private:
  // Checks stdout, a file of the child, which also has the warnings about bad lines.
  static void expect_as_many_lines(const std::string& lines) {
    std::fflush(stdout);
    struct stat info {};
    if (fstat(STDOUT_FILENO, &info) != 0) return;
    std::string out(static_cast<std::size_t>(info.st_size), '\0');
    if (pread(STDOUT_FILENO, out.data(), out.size(), 0) != info.st_size) return;
    if (out.find("warning[") != std::string::npos) return;
    const auto in_count = std::count(lines.begin(), lines.end(), '\n') + (!lines.empty() && lines.back() != '\n' ? 1 : 0);
    const auto out_count = std::count(out.begin(), out.end(), '\n');
    // A byte order mark alone is not a line.
    if (in_count != out_count && lines.find("\ufeff") != 0)
      throw std::logic_error(std::to_string(in_count) + " lines in, " + std::to_string(out_count) + " out");
  }

  const std::string folder_;
  std::map<std::string, Model> models_;
};

}  // namespace

std::unique_ptr<Kind> make_lines(const std::string& folder, Children& children) {
  return std::make_unique<Lines>(folder, children);
}

}  // namespace graphrun::mutants
