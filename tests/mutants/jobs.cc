// Jobs, checked as `graphrun check` does: the shipped ones, small ones, and the mistakes of tests/errors/jobs.
#include "tests/folders.h"
#include "tests/mutants/kinds.h"
#include "tests/mutants/small_jobs.h"
#include "tests/mutants/text.h"
#include "tools/validate/validate.h"

namespace graphrun::mutants {
namespace {

class Jobs : public Kind {
 public:
  explicit Jobs(const std::string& folder) : folder_(folder) {
    const Files data = small_data();
    write_files(folder, data);
    for (const auto& [name, text] : data)
      if (name.ends_with(".pbtxt") && name.find('/') == std::string::npos) parts_.add(text);
    for (const std::string& text : shipped_jobs()) parts_.add(text);
    sound_ = parts_.texts().size();
    for (const auto& [name, text] : read_files(tests::source_folder() + "/tests/errors/jobs"))
      if (name.ends_with(".pbtxt")) parts_.add(text);
  }

  Files mutant(tests::Draw& random) const override {
    const std::size_t seed = random.below(random.one_in(4) ? parts_.texts().size() : sound_);
    const std::string& text = parts_.texts()[seed];
    return {{"job.pbtxt", random.one_in(2) ? parts_.mutated(text, random) : parts_.exchanged(text, random)}};
  }

  void run(const Files& files) const override {
    std::vector<Diagnostic> warnings;
    validate_job(files.at("job.pbtxt"), folder_ + "/job.pbtxt", {}, warnings);
  }

 private:
  const std::string folder_;
  TextParts parts_;
  std::size_t sound_ = 0;  // how many of its texts are jobs without mistakes; they come first
};

}  // namespace

std::unique_ptr<Kind> make_jobs(const std::string& folder, Children&) { return std::make_unique<Jobs>(folder); }

}  // namespace graphrun::mutants
