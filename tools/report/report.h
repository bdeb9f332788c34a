// A job's reports: named measures and formulas, gathered over a set.
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
  // From the job's bindings, "f1 = segmentation(tags, path, lengths=lengths)"; adds to `problems` (E0414, E0416) what is wrong.
  Report(const std::vector<ir::Binding>& entries, std::vector<Diagnostic>& problems);

  // The outputs and feeds that the formulas name, each use; also kRowsName, which is there always.
  std::vector<NameUse> names() const;
  // Those of named measures, which are numbers of labels or lengths.
  std::vector<NameUse> labels() const;
  // Adds an error (E0412) for each name that is neither among `available` nor built in.
  void check_names(const std::vector<std::string>& available, std::vector<Diagnostic>& problems) const;
  // Hands each named measure the vocabularies of its feeds' fields. Throws UserError (kInvalidGraph, E0414) where there is none
  // or its entries do not suit, all such together.
  void bind(const VocabularyOf& vocabulary);

  void add(const BatchValues& values);
  // Those that read text: somebody hands them each example's.
  std::vector<TextMeasure*> texts() const;
  // The fields whose text they compare with.
  std::set<std::string> text_fields() const;
  // By name in the job's order: "f1", "f1.precision", "f1.recall".
  std::vector<std::pair<std::string, double>> results() const;
  // Those of measures that read no text.
  std::vector<std::pair<std::string, double>> results_without_texts() const;
  // By report, in the job's order; those without any left out.
  std::vector<std::pair<std::string, std::vector<Table>>> details() const;
  // The number of that name; throws InternalError where there is none.
  double result(const std::string& name) const;
  std::vector<std::string> result_names() const;
  void clear();
  // The sums under way, exactly: restore(state()) continues as if nothing had happened. Throws UserError (kBadData, E0651)
  // where it is no state of these reports.
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
