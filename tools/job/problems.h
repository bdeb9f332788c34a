// Collects the mistakes in a job, each with the location of the setting.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/source.h"
#include "runtime/base/status.h"

namespace graphrun {

class Problems {
 public:
  explicit Problems(std::vector<Diagnostic>& all) : all_(all) {}

  void add(std::string code, const Location& at, std::string text, const std::string& help = "") {
    Diagnostic d{Severity::kError, std::move(code), at, std::move(text), {}};
    if (!help.empty()) d.notes.push_back("help: " + help);
    all_.push_back(std::move(d));
  }
  void missing(const Location& at, std::string text, const std::string& help = "") {
    add("E0410 missing-setting", at, std::move(text), help);
  }
  void bad(const Location& at, std::string text, const std::string& help = "") {
    add("E0411 bad-setting", at, std::move(text), help);
  }
  void unknown(const Location& at, const std::string& what, const std::string& name, const std::vector<std::string>& known) {
    add("E0412 unknown-name", at, "no " + what + " '" + name + "'", near_or_all(name, known));
  }
  std::size_t count() const { return all_.size(); }
  void twice(const Location& at, std::string text) { add("E0416 named-twice", at, std::move(text)); }

 private:
  std::vector<Diagnostic>& all_;
};

// The locations inside the value of a message field; unknown locations if the field is absent.
inline const Places& inside(const Places& places, std::string_view field, std::size_t index = 0) {
  static const Places kNowhere;
  const auto found = places.fields.find(field);
  const bool there = found != places.fields.end() && index < found->second.size() && found->second[index].message;
  return there ? *found->second[index].message : kNowhere;
}

}  // namespace graphrun
