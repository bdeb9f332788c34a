#include "tests/mutants/small_jobs.h"

#include <map>
#include <regex>

#include "tests/folders.h"

namespace graphrun::mutants {
namespace {

// By a job's format, the data used in place of its own.
const std::map<std::string, std::string>& data_by_format() {
  static const std::map<std::string, std::string> kData = {{"STREAM", "\"train.txt\""},          {"CONLL", "\"train.conll\""},
                                                           {"SEGMENTED", "\"train.seg\""},       {"TSV", "\"pairs.tsv\""},
                                                           {"JSONL", "\"pairs.jsonl\""},         {"LINES", "\"left\""},
                                                           {"PARALLEL", "[\"left\", \"right\"]"}};
  return kData;
}

std::string replaced(const std::string& text, const char* pattern, const std::string& by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

// Makes networks narrow and shallow and vocabularies small, because checking a job allocates its parameters.
std::string made_small(std::string text) {
  std::smatch format;
  if (std::regex_search(text, format, std::regex(R"(format:\s*(\w+))"))) {
    const auto data = data_by_format().find(format[1]);
    if (data != data_by_format().end())
      text = replaced(text, R"(\b(train|valid|test):\s*(\[[^\]]*\]|"[^"]*"))", "$1: " + data->second);
  }
  text = replaced(text, R"(= \d\d+)", "= 8");
  text = replaced(text, R"(split: (BPE|UNIGRAM))", "split: SPACE");
  text = replaced(text, R"(size: \d+)", "size: 40");
  text = replaced(text, R"( character_coverage: \d+)", "");
  text = replaced(text, R"(vectors: "[^"]*")", "vectors: \"vectors.txt\"");
  return text;
}

}  // namespace

Files small_data() {
  Files files = read_files(tests::source_folder() + "/tests/errors/shared");
  files.merge(read_files(tests::source_folder() + "/tests/mutants/networks"));
  return files;
}

std::vector<std::string> shipped_jobs() {
  std::vector<std::string> jobs;
  for (const auto& [name, text] : read_files(tests::source_folder() + "/graphs/jobs"))
    if (name.ends_with(".pbtxt")) jobs.push_back(made_small(text));
  return jobs;
}

}  // namespace graphrun::mutants
