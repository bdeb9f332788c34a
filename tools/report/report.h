// A job's reports: named measures and formulas, accumulated over a set.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/expression.h"
#include "tools/report/named_measures.h"
#include "tools/report/text_measure.h"

namespace graphrun {

class Report {
 public:
  // From the job's bindings, "f1 = segmentation(tags, path, lengths=lengths)"; adds mistakes to `problems` (E0414, E0416).
  Report(const std::vector<ir::Binding>& entries, std::vector<Diagnostic>& problems);

  // Every use of an output or feed in the formulas; also kRowsName, which always exists.
  std::vector<NameUse> names() const;
  // Those in named measures, which must be numbers of labels or lengths.
  std::vector<NameUse> labels() const;
  // Adds an error (E0412) for each name that is neither in `available` nor built in. `available` begins with outputs and feeds.
  void check_names(const std::vector<std::string>& available, std::vector<Diagnostic>& problems) const;
  // Passes each named measure the vocabularies of its feeds' fields. Throws UserError (kInvalidGraph, E0414) with all mistakes
  // if there is none or its entries do not suit.
  void bind(const VocabularyOf& vocabulary);

  void add(const BatchValues& values);
  // The measures of text; the caller passes them the text of each example.
  std::vector<TextMeasure*> texts() const;
  // The measure of text of that name; null if there is none.
  TextMeasure* text(const std::string& name) const;
  // The names before the "=".
  std::vector<std::string> entry_names() const;
  // Drops all reports but these.
  void keep(const std::vector<std::string>& names);
  // The fields that they compare with.
  std::set<std::string> text_fields() const;
  // By name, in the order of the job: "f1", "f1.precision", "f1.recall".
  std::vector<std::pair<std::string, double>> results() const;
  // The same without measures of text.
  std::vector<std::pair<std::string, double>> results_without_texts() const;
  // By report, in the order of the job, without empty ones.
  std::vector<std::pair<std::string, std::vector<Table>>> details() const;
  // The number of that name; throws InternalError if there is none.
  double result(const std::string& name) const;
  std::vector<std::string> result_names() const;
  void clear();
  // The exact sums so far: restore(state()) continues with the same results. Throws UserError (kBadData, E0651) if it is not a
  // state of these reports.
  nlohmann::json state() const;
  void restore(const nlohmann::json& state);

 private:
  struct Entry {
    std::string name;
    Location at;
    std::unique_ptr<Measure> measure;
    NamedMeasure* named = nullptr;
    TextMeasure* text = nullptr;
  };
  std::vector<Entry> entries_;
};

}  // namespace graphrun
