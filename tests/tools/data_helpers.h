// Short constructors of a DataSpec, for tests.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/expression.h"
#include "runtime/tensor/tensor.h"
#include "tools/data/field_vocabularies.h"
#include "tools/data/spec.h"

namespace graphrun {

inline FieldSpec make_field(std::string name, int column = 0, std::vector<Split> splits = {}, Derive derive = Derive::kGiven) {
  FieldSpec field;
  field.name = std::move(name);
  field.column = column;
  field.key = field.name;
  field.splits = std::move(splits);
  field.derive = derive;
  return field;
}

inline std::vector<FeedExpression> make_feeds(const std::string& text) {
  std::vector<FeedExpression> feeds;
  for (ir::Binding& binding : ir::parse_bindings(ir::SourceText(text)))
    feeds.push_back({binding.name, std::move(binding.value), binding.at});
  return feeds;
}

// A plan without mistakes; throws UserError if there are some.
inline FeedPlan make_plan(const DataSpec& data) {
  std::vector<Diagnostic> problems;
  FeedPlan plan(data, problems);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, problems);
  return plan;
}

// The specification of data, its vocabularies, and the examples that they make from files.
struct Prepared {
  DataSpec data;
  FeedPlan plan;
  Vocabularies vocabularies;

  explicit Prepared(DataSpec spec)
      : data(std::move(spec)), plan(make_plan(data)), vocabularies(build_vocabularies(data, plan)) {
    plan.bind(vocabularies);
  }
  Dataset train(bool training = true) const {
    return read_dataset(data, vocabularies, data.train, {training, {}, kNumbersInMemory, {}});
  }
  // The entries of the vocabulary with these numbers.
  std::vector<std::string> entries(const std::string& field, const std::vector<std::int32_t>& numbers) const {
    std::vector<std::string> names;
    for (const std::int32_t n : numbers) names.push_back(vocabularies.at(field).entry(n));
    return names;
  }
};

// Gives the texts one after the other; `texts` must outlive it.
inline TextSource one_by_one(const std::vector<std::string>& texts) {
  return [&texts, i = std::size_t{0}](std::string_view& text) mutable {
    if (i == texts.size()) return false;
    text = texts[i++];
    return true;
  };
}

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  const auto span = tensor.span<T>();
  return {span.begin(), span.end()};
}

}  // namespace graphrun
