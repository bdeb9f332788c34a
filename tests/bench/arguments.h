// The command line of a benchmark. Its usage text, which --help prints, is also the list of its options: those in brackets,
// "[--pairs N]" with a value and "[--profile]" without one. Alternatives are separated by "|".
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/suggestion.h"
#include "tools/cli/program.h"

namespace graphrun {

class BenchArguments {
 public:
  // Throws UsageError for an option that the usage does not have, and for one without its value.
  BenchArguments(const std::string& usage, const std::vector<std::string>& words) {
    static const std::regex kOption(R"([\[|]\s*(--[a-z0-9-]+)( [^\]|]+)?)");
    std::map<std::string, bool> takes_value = {{"--help", false}};
    std::vector<std::string> known;
    for (std::sregex_iterator at(usage.begin(), usage.end(), kOption), end; at != end; ++at) {
      takes_value[(*at)[1]] = (*at)[2].str().find_first_not_of(' ') != std::string::npos;
      known.push_back((*at)[1]);
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!words[i].starts_with("-")) {
        rest_.push_back(words[i]);
        continue;
      }
      const auto option = takes_value.find(words[i]);
      if (option == takes_value.end()) {
        const std::string near = did_you_mean(words[i], known);
        throw UsageError(fmt::format("there is no option '{}'{}", words[i], near.empty() ? "" : "; " + near));
      }
      if (option->second && i + 1 == words.size()) throw UsageError(words[i] + " needs a value");
      values_[option->first].push_back(option->second ? words[++i] : "");
    }
  }

  bool has(const std::string& option) const { return values_.count(option) != 0; }
  // The values of an option, in their order.
  std::vector<std::string> all(const std::string& option) const {
    return has(option) ? values_.at(option) : std::vector<std::string>();
  }
  std::string value(const std::string& option, const std::string& otherwise) const {
    return has(option) ? values_.at(option).back() : otherwise;
  }
  // Throws UsageError unless it is a whole number from 0.
  std::int64_t number(const std::string& option, std::int64_t otherwise) const {
    return has(option) ? whole_number(option, values_.at(option).back()) : otherwise;
  }
  static std::int64_t whole_number(const std::string& of, const std::string& text) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop != text.data() + text.size() || number < 0)
      throw UsageError(fmt::format("{} takes a whole number from 0, found '{}'", of, text));
    return number;
  }

  // The words that are neither options nor their values.
  const std::vector<std::string>& rest() const { return rest_; }
  // The cases that the words choose: all if there are none. A word that is no case chooses those of its family: "ptb" chooses
  // "ptb_1x200_atr". Throws UsageError for a word that chooses none.
  std::set<std::string> chosen(const std::vector<std::string>& cases) const {
    if (rest_.empty()) return {cases.begin(), cases.end()};
    std::set<std::string> chosen;
    for (const std::string& word : rest_) {
      const bool is_case = std::find(cases.begin(), cases.end(), word) != cases.end();
      const auto belongs = [&](const std::string& name) { return is_case ? name == word : name.starts_with(word + "_"); };
      std::copy_if(cases.begin(), cases.end(), std::inserter(chosen, chosen.end()), belongs);
      if (std::any_of(cases.begin(), cases.end(), belongs)) continue;
      const std::string near = did_you_mean(word, cases);
      throw UsageError(
          fmt::format("there is no case '{}'; {}there are {}", word, near.empty() ? "" : near + " ", fmt::join(cases, ", ")));
    }
    return chosen;
  }
  // The words in groups of `size`: a name, then numbers. Throws UsageError if they are not.
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> groups(std::size_t size) const {
    if (rest_.size() % size != 0) throw UsageError(fmt::format("a case has {} words, found {} in all", size, rest_.size()));
    std::vector<std::pair<std::string, std::vector<std::int64_t>>> groups;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (i % size == 0) {
        groups.emplace_back(rest_[i], std::vector<std::int64_t>());
      } else {
        groups.back().second.push_back(whole_number("a size of " + groups.back().first, rest_[i]));
      }
    }
    return groups;
  }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> rest_;
};

// A benchmark's main(): prints the usage for --help, reports mistakes as the programs do, and otherwise runs it.
inline int bench_main(const char* program, const char* usage, int count, char** words,
                      const std::function<void(const BenchArguments&)>& run) {
  return guarded(program, [&] {
    const BenchArguments arguments(usage, {words + 1, words + count});
    if (arguments.has("--help")) {
      fmt::print("{}", usage);
    } else {
      run(arguments);
    }
    return ExitCode::kDone;
  });
}

}  // namespace graphrun
