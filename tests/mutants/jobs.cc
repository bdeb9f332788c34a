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
      if (name.ends_with(".pbtxt")) parts_.add(text);
    for (const std::string& text : shipped_jobs()) parts_.add(text);
    for (const auto& [name, text] : read_files(tests::source_folder() + "/tests/errors/jobs"))
      if (name.ends_with(".pbtxt")) parts_.add(text);
  }

  Files mutant(tests::Draw& random) const override {
    return {{"job.pbtxt", parts_.mutated(random.any(parts_.texts()), random)}};
  }

  void run(const Files& files) const override {
    std::vector<Diagnostic> warnings;
    validate_job(files.at("job.pbtxt"), folder_ + "/job.pbtxt", {}, warnings);
  }

 private:
  const std::string folder_;
  TextParts parts_;
};

}  // namespace

std::unique_ptr<Kind> make_jobs(const std::string& folder, Children&) { return std::make_unique<Jobs>(folder); }

}  // namespace graphrun::mutants
