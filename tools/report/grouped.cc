#include "tools/report/grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "tools/report/terms.h"

namespace graphrun {
namespace {

using Kind = ir::Expression::Kind;

const std::string kPosition = "position", kLength = "length";

// `by length(FEED, 10)`: 10.
std::int64_t width_of_ranges(const ir::Expression& by) {
  const bool fits = by.operands.size() == 2 && by.keywords.empty() && by.operands[0].kind == Kind::kName &&
                    by.operands[1].kind == Kind::kNumber;
  const double width = fits ? by.operands[1].number : 0;
  if (!(width >= 1 && width <= 1e9 && width == std::floor(width))) {
    report_error(by.at, "expected length(FEED, N): a feed of lengths and the size of the ranges, a whole number from 1",
                 "length(source_lengths, 10) is by ranges of ten");
  }
  return static_cast<std::int64_t>(width);
}

class Grouped : public NamedMeasure {
 public:
  Grouped(const ir::Expression& of, const ir::Expression& by) : at_(of.at) {
    read_value(of);
    read_groups(by);
  }

  const std::vector<NameUse>& names() const override { return names_; }
  std::vector<NameUse> labels() const override {
    std::vector<NameUse> labels;
    if (group_) labels.push_back(names_[*group_]);
    if (lengths_) labels.push_back(names_[*lengths_]);
    return labels;
  }
  void bind(const VocabularyOf& vocabulary) override {
    const Vocabulary* const entries = group_ ? vocabulary(names_[*group_].name) : nullptr;
    if (entries == nullptr) return;
    if (by_.width > 0) {
      report_error(names_[*group_].at, fmt::format("'{}' has entries; expected a feed of lengths", names_[*group_].name),
                   fmt::format("feed: \"{0}_lengths = length({0})\" is one", names_[*group_].name));
    }
    entries_ = entries->entries();
  }

  void add(const BatchValues& values) override {
    std::vector<const Tensor*> tensors;
    for (const std::size_t leaf : leaves_) tensors.push_back(&values.at(names_[leaf].name));
    const Sizes& sizes = tensors.front()->sizes();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i]->sizes() == sizes) continue;
      report_error(names_[leaves_[i]].at, fmt::format("'{}' is {}, '{}' is {}; expected equal sizes", names_[leaves_[i]].name,
                                                      str(tensors[i]->sizes()), names_[leaves_[0]].name, str(sizes)));
    }
    const Mask mask(sizes, lengths_ ? &values.at(names_[*lengths_].name) : nullptr, names_[lengths_.value_or(leaves_.front())]);
    const Groups groups = groups_of(values, sizes);
    const std::int64_t elements = tensors.front()->count();
    for (std::int64_t i = 0; i < elements; ++i) {
      if (!mask[i]) continue;
      const auto element = [&](std::size_t leaf) { return tensors[leaf]->at(i); };
      const double x = value_.evaluate(element), y = pairs_ ? second_.evaluate(element) : 0;
      by_group_[groups[i]].add(x, y);
      all_.add(x, y);
    }
  }

  // Over all elements; for a correlation, that of the groups' means.
  std::vector<std::pair<std::string, double>> results() const override {
    if (!pairs_) return {{"", what_ == "sum" ? all_.x.value() : what_ == "deviation" ? all_.deviation() : all_.mean()}};
    Moments means;
    for (const auto& [group, sums] : by_group_) means.add(sums.mean(), sums.mean_of_second());
    return {{"", means.correlation()}};
  }
  std::vector<Table> details() const override {
    Table table{"by " + by_.text, {"count"}, {}};
    if (pairs_) {
      table.columns.insert(table.columns.end(), {"mean", "mean of second", "correlation"});
    } else if (what_ == "sum") {
      table.columns.emplace_back("sum");
    } else {
      table.columns.insert(table.columns.end(), {"mean", "deviation"});
    }
    for (const auto& [group, sums] : by_group_) {
      std::vector<double> row = {static_cast<double>(sums.count)};
      if (pairs_) {
        row.insert(row.end(), {sums.mean(), sums.mean_of_second(), sums.correlation()});
      } else if (what_ == "sum") {
        row.push_back(sums.x.value());
      } else {
        row.insert(row.end(), {sums.mean(), sums.deviation()});
      }
      table.rows.emplace_back(label_of(group), std::move(row));
    }
    return {table};
  }
  void clear() override {
    by_group_.clear();
    all_ = {};
  }
  nlohmann::json state() const override {
    nlohmann::json groups = nlohmann::json::object();
    for (const auto& [group, sums] : by_group_) groups[std::to_string(group)] = sums.state();
    return {{"all", all_.state()}, {"groups", groups}};
  }
  void restore(const nlohmann::json& state) override {
    clear();
    all_.restore(state.at("all"));
    for (const auto& [group, sums] : state.at("groups").items()) {
      Moments of_group;
      of_group.restore(sums);
      if (of_group.count == 0) continue;  // a group without elements has no mean
      by_group_[std::strtoll(group.c_str(), nullptr, 10)] = of_group;
    }
  }

 private:
  // The group of each element: element / inner % count, and then the group of that row or position.
  struct Groups {
    std::int64_t inner = 1, count = 1;
    std::vector<std::int64_t> group;  // empty: the number itself
    std::int64_t operator[](std::int64_t element) const {
      const std::int64_t at = element / inner % count;
      return group.empty() ? at : group[static_cast<std::size_t>(at)];
    }
  };

  void read_value(const ir::Expression& of) {
    what_ = of.kind == Kind::kCall ? of.text : "";
    pairs_ = what_ == "correlation";
    if (!pairs_ && what_ != "mean" && what_ != "sum" && what_ != "deviation") {
      report_error(of.at, "only mean(x), sum(x), deviation(x) and correlation(x, y) have groups",
                   "mean(path == tags, lengths=lengths) by tags is an accuracy by label");
    }
    if (of.operands.size() != (pairs_ ? 2 : 1)) {
      report_error(of.at,
                   fmt::format("{} takes {}, {} are given", what_, pairs_ ? "two values" : "one value", of.operands.size()));
    }
    value_ = element_term(of.operands[0], names_, leaves_);
    if (pairs_) second_ = element_term(of.operands[1], names_, leaves_);
    if (leaves_.empty()) report_error(of.at, fmt::format("{} of no output or feed", what_));
    for (const auto& [key, value, place] : of.keywords) {
      if (key != "lengths" || value.kind != Kind::kName) {
        report_error(value.at, fmt::format("{} has no '{}'; expected lengths=NAME", what_, key));
      }
      lengths_ = names_.size();
      names_.push_back({value.dotted(), value.at});
    }
  }

  void read_groups(const ir::Expression& by) {
    by_ = parse_grouped_by(by);
    if (!by_.of) return;
    group_ = names_.size();
    names_.push_back(*by_.of);
  }

  Groups groups_of(const BatchValues& values, const Sizes& sizes) const {
    Groups groups;
    const std::int64_t elements = element_count(sizes);
    if (!group_) {
      if (sizes.size() < 2) {
        report_error(names_[leaves_[0]].at,
                     fmt::format("'{}' is {}; it has no axis of positions", names_[leaves_[0]].name, str(sizes)));
      }
      groups.count = sizes[0];
      groups.inner = std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, sizes[0]));
      return groups;
    }
    const NameUse& use = names_[*group_];
    const Tensor& of = values.at(use.name);
    if (of.dtype() != DType::kInt32 || (by_.width > 0 && of.sizes().size() != 1)) {
      report_error(use.at, fmt::format("'{}' is {} {}; expected {}", use.name, name_of(of.dtype()), str(of.sizes()),
                                       by_.width > 0 ? "lengths, INT32 [batch]" : "entries or whole numbers, INT32"));
    }
    // Its axes are the leading axes of the value; or it is [batch], and the value [time, batch, …].
    const Sizes& own = of.sizes();
    const bool leads = own.size() <= sizes.size() && std::equal(own.begin(), own.end(), sizes.begin());
    const bool of_rows = own.size() == 1 && sizes.size() >= 2 && sizes[1] == own[0];
    if (!of_rows && !leads) {
      report_error(use.at, fmt::format("'{}' is {}, '{}' is {}; expected its leading axes, or the batch", use.name, str(own),
                                       names_[leaves_[0]].name, str(sizes)));
    }
    const std::int64_t outer = of_rows ? sizes[0] * sizes[1] : of.count();
    groups.count = of.count();
    groups.inner = std::max<std::int64_t>(1, elements / std::max<std::int64_t>(1, outer));
    for (const std::int32_t number : of.span<std::int32_t>()) {
      groups.group.push_back(by_.width > 0 ? number / by_.width : number);
    }
    return groups;
  }

  std::string label_of(std::int64_t group) const {
    if (!group_) return std::to_string(group + 1);
    if (by_.width > 0) return by_.range(group);
    const bool known = group >= 0 && static_cast<std::size_t>(group) < entries_.size();
    return known ? entries_[static_cast<std::size_t>(group)] : std::to_string(group);
  }

  Location at_;
  std::string what_;
  GroupedBy by_;
  bool pairs_ = false;
  std::vector<NameUse> names_;
  std::vector<std::size_t> leaves_;  // indices in names_
  FormulaTerm value_, second_;
  std::optional<std::size_t> lengths_, group_;  // indices in names_
  std::vector<std::string> entries_;            // of the group's feed; empty: numbers
  std::map<std::int64_t, Moments> by_group_;
  Moments all_;
};

}  // namespace

std::string GroupedBy::range(std::int64_t number) const {
  return fmt::format("{}-{}", number * width, (number + 1) * width - 1);
}

GroupedBy parse_grouped_by(const ir::Expression& by) {
  if (by.kind == Kind::kName && by.dotted() == kPosition) return {std::nullopt, 0, kPosition};
  const bool of_lengths = by.kind == Kind::kCall && by.text == kLength;
  const std::int64_t width = of_lengths ? width_of_ranges(by) : 0;
  const ir::Expression& of = of_lengths ? by.operands[0] : by;
  if (of.kind != Kind::kName) {
    report_error(by.at, "expected what the groups are by",
                 "by FEED is by its entries, by position by the index along the first axis, by length(FEED, 10) by ranges");
  }
  const std::string name = of.dotted();
  return {NameUse{name, of.at}, width, of_lengths ? fmt::format("length({}, {})", name, width) : name};
}

std::unique_ptr<NamedMeasure> make_grouped(const ir::Expression& of, const ir::Expression& by) {
  return std::make_unique<Grouped>(of, by);
}

}  // namespace graphrun
