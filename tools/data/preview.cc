#include "tools/data/preview.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphrun {
namespace {

constexpr const char* kPadding = "·";

std::string padding(std::int64_t steps) {
  if (steps == 0) return "";
  return steps == 1 ? kPadding : fmt::format("{} × {}", kPadding, steps);
}

void add(std::string& line, const std::string& part) {
  if (!line.empty() && !part.empty()) line += "  ";
  line += part;
}

// One feed of a batch.
class FeedPreview {
 public:
  FeedPreview(const FeedPlan::Feed& feed, const Vocabularies& vocabularies, const Tensor& tensor, std::int64_t steps)
      : feed_(feed), tensor_(tensor), limit_(steps), rows_(tensor.sizes().back()) {
    if (!feed.field.empty()) vocabulary_ = &vocabularies.at(feed.field);
  }

  std::string title() const {
    std::string sizes;
    for (const std::int64_t size : tensor_.sizes()) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
    const std::string what = vocabulary_     ? fmt::format("entries of '{}', below {}", feed_.field, vocabulary_->size())
                             : feed_.numbers ? "numbers"
                                             : "lengths";
    return fmt::format("{}  {}[{}]  {}\n", feed_.name, feed_.numbers ? "FLOAT" : "INT32", sizes, what);
  }

  // One row; `value`: its contents without padding; null: no padding is known.
  std::string row(std::int64_t row, const Nested* value) const {
    if (tensor_.sizes().size() == 1) return symbol(row);
    const std::int64_t time = tensor_.sizes()[0], steps = value ? value->steps() : time;
    const std::int64_t shown = limit_ > 0 ? std::min(steps, limit_) : steps;
    std::string line;
    for (std::int64_t t = 0; t < shown; ++t) {
      add(line, feed_.depth == kDeepest ? group(row, t, *value) : symbol(t * rows_ + row));
    }
    if (shown < steps) add(line, fmt::format("… {} more", steps - shown));
    add(line, padding(time - steps));
    return line;
  }

 private:
  std::string symbol(std::int64_t element) const {
    if (feed_.numbers) return fmt::format("{}", tensor_.data<float>()[element]);
    const std::int32_t number = tensor_.data<std::int32_t>()[element];
    return vocabulary_ ? fmt::format("{}/{}", vocabulary_->entry(number), number) : std::to_string(number);
  }

  // The inner sequence at step t.
  std::string group(std::int64_t row, std::int64_t t, const Nested& value) const {
    const std::int64_t inner = tensor_.sizes()[1], length = value.lengths[static_cast<std::size_t>(t)];
    std::string line;
    for (std::int64_t i = 0; i < length; ++i) line += (i ? " " : "") + symbol((t * inner + i) * rows_ + row);
    const std::string rest = padding(inner - length);
    return "[" + line + (line.empty() || rest.empty() ? "" : " ") + rest + "]";
  }

  const FeedPlan::Feed& feed_;
  const Tensor& tensor_;
  const Vocabulary* vocabulary_ = nullptr;
  std::int64_t limit_, rows_;
};

}  // namespace

std::string describe_set(const DataSpec& data, const Dataset& set, const Vocabularies& vocabularies) {
  std::string text;
  if (data.format != Format::kStream) {
    text += counted(set.size(), "example");
    if (set.blank() > 0) text += fmt::format(", {} empty {} left out", set.blank(), set.blank() == 1 ? "one" : "ones");
    if (set.dropped() > 0) text += fmt::format(", {} too long and left out", set.dropped());
    text += set.on_disk() ? ", on disk\n" : "\n";
  }
  std::size_t width = 5;
  for (const FieldSpec& field : data.fields) width = std::max(width, field.name.size());
  bool numbers = false, entries = false;
  for (const FieldSpec& field : data.fields) (field.numbers ? numbers : entries) = true;
  const std::string last = numbers && entries ? "vocabulary or range" : numbers ? "range" : "vocabulary";
  std::size_t last_width = last.size();
  const auto range = [](const FieldCounts& counts) {
    return fmt::format("from {:.4g} to {:.4g}", counts.least, counts.greatest);
  };
  for (std::size_t i = 0; i < data.fields.size(); ++i) {
    if (data.fields[i].numbers) last_width = std::max(last_width, range(set.counts(i)).size());
  }
  text += fmt::format("{:<{}}  {:>12}  {:>9}  {:>8}  {:>8}  {:>{}}\n", "field", width, "entries", "unknown", "longest",
                      "too long", last, last_width);
  for (std::size_t i = 0; i < data.fields.size(); ++i) {
    const FieldCounts& counts = set.counts(i);
    if (data.fields[i].numbers) {
      text += fmt::format("{:<{}}  {:>12}  {:>9}  {:>8}  {:>8}  {:>{}}\n", data.fields[i].name, width, counts.entries, "",
                          counts.longest, counts.too_long, range(counts), last_width);
      continue;
    }
    const Vocabulary& vocabulary = vocabularies.at(data.fields[i].name);
    const double unknown =
        counts.entries == 0 ? 0 : 100.0 * static_cast<double>(counts.unknown) / static_cast<double>(counts.entries);
    text += fmt::format("{:<{}}  {:>12}  {:>9}  {:>8}  {:>8}  {:>{}}\n", data.fields[i].name, width, counts.entries,
                        vocabulary.closed() ? "–" : fmt::format("{:.2f} %", unknown), counts.longest, counts.too_long,
                        vocabulary.size(), last_width);
  }
  return text;
}

std::string describe_batch(const FeedPlan& plan, const Vocabularies& vocabularies, const Dataset& set, const Batch& batch,
                           const PreviewLimits& limits) {
  std::string text;
  const std::int64_t shown = limits.rows > 0 ? std::min(limits.rows, batch.rows) : batch.rows;
  for (std::size_t i = 0; i < plan.feeds().size(); ++i) {
    const FeedPlan::Feed& feed = plan.feeds()[i];
    const FeedPreview preview(feed, vocabularies, batch.feeds.at(feed.name), limits.steps);
    text += (i ? "\n" : "") + preview.title();
    for (std::int64_t row = 0; row < shown; ++row) {
      Nested value;
      if (!batch.examples.empty()) value = plan.evaluate(i, set.example(batch.examples[static_cast<std::size_t>(row)]));
      text += fmt::format("{:>5}  {}\n", row, preview.row(row, batch.examples.empty() ? nullptr : &value));
    }
    if (shown < batch.rows) text += fmt::format("       … {} more rows\n", batch.rows - shown);
  }
  return text;
}

}  // namespace graphrun
