#include "tools/help/topics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>

#include "compiler/frontend/installation.h"
#include "runtime/base/file.h"
#include "tools/cli/program.h"

namespace graphrun {
namespace {

constexpr std::int64_t kLargestPage = 4 << 20;
constexpr const char* kMessages = "errors.md";

// The headings of graphs/README.md that make up a topic.
struct Sections {
  const char *name, *summary;
  std::vector<std::string> headings;
};
const std::vector<Sections>& sections() {
  static const std::vector<Sections> kSections = {
      {"language", "how to write graphs: cells, networks made of graphs", {"A cell", "Networks from graphs"}},
      {"jobs", "the parts of a job", {"A job"}},
      {"reports", "what a job's reports measure", {"Reports"}},
      {"data", "formats, fields, feeds, vocabularies, batches", {"Data"}},
      {"training", "the objective, initialization, schedules, validation", {"Training"}},
      {"generation", "beam search, sampling, ensembles", {"Generation"}},
      {"networks", "the shipped graphs and jobs", {"What is here"}},
      {"glossary", "the terms of this documentation", {"Glossary"}},
  };
  return kSections;
}

std::string page(const std::string& name) { return read_file(frontend::installed_graphs() + "/" + name, kLargestPage); }

// A section, from its heading to the next one of the same level.
std::string section(const std::string& text, const std::string& heading) {
  const std::string line = "\n## " + heading + "\n";
  const std::size_t begin = text.find(line);
  GRAPHRUN_CHECK(begin != std::string::npos, "graphs/README.md has no section '" + heading + "'");
  const std::size_t end = text.find("\n## ", begin + line.size());
  return text.substr(begin + 1, end == std::string::npos ? end : end - begin);
}

// An entry of the page, from its mark to the next one or to a blank line.
struct MessageEntry {
  std::string code, slug, text;
};
std::vector<MessageEntry> message_entries() {
  std::istringstream lines(page(kMessages));
  std::vector<MessageEntry> entries;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kMark = "- **E", kEnd = "**: ";
    const std::size_t end = line.find(kEnd);
    if (line.starts_with(kMark) && end != std::string::npos) {
      const std::string name = line.substr(kMark.size() - 1, end - kMark.size() + 1);
      const std::size_t space = name.find(' ');
      entries.push_back({name.substr(0, space), name.substr(space + 1), line.substr(end + kEnd.size())});
      entries.back().text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(entries.back().text[0])));
      inside = true;
    } else if (inside && line.starts_with("  ")) {
      entries.back().text += "\n" + line.substr(2);
    } else {
      inside = false;
    }
  }
  return entries;
}

// "E0306" for "e306".
std::string full_code(const std::string& name) { return "E" + std::string(5 - name.size(), '0') + name.substr(1); }

}  // namespace

const std::vector<Topic>& topics() {
  static const std::vector<Topic> kTopics = [] {
    std::vector<Topic> all;
    for (const Sections& s : sections()) all.push_back({s.name, s.summary});
    all.push_back({"graph", "every field of a graph; `help graph scan`: the fields of one block"});
    all.push_back({"job", "every field of a job; `help job train.optimizer`: the fields of one block"});
    all.push_back({"errors", "every message by code; `help E0306`: one message"});
    all.push_back({"ops", "all operators"});
    return all;
  }();
  return kTopics;
}

std::string topic_text(const std::string& name) {
  if (name == "errors") return page(kMessages);
  const auto topic = std::find_if(sections().begin(), sections().end(), [&](const Sections& s) { return s.name == name; });
  GRAPHRUN_CHECK(topic != sections().end(), "topic_text: " + name);
  const std::string text = page("README.md");
  std::string out;
  for (const std::string& heading : topic->headings) out += (out.empty() ? "" : "\n") + section(text, heading);
  return out;
}

bool is_message_code(const std::string& name) {
  return name.size() >= 4 && name.size() <= 5 && (name[0] == 'E' || name[0] == 'e') &&
         std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::string message_text(const std::string& code) {
  const std::string wanted = full_code(code);
  std::string out;
  for (const MessageEntry& entry : message_entries()) {
    if (entry.code == wanted)
      out += fmt::format("{}{} {}\n\n{}\n", out.empty() ? "" : "\n", entry.code, entry.slug, entry.text);
  }
  if (out.empty()) throw UsageError(fmt::format("there is no message {}; `graphrun help errors` lists them all", wanted));
  return out;
}

}  // namespace graphrun
