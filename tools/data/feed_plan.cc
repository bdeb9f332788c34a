#include "tools/data/feed_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace graphrun {

// Turns one feed's expression into terms; stops at the feed's first mistake.
class FeedPlan::Typer {
 public:
  Typer(const DataSpec& data, std::vector<Diagnostic>& problems) : data_(data), problems_(problems) {}

  std::optional<FeedTerm> type(const FeedExpression& spec, Feed& feed) {
    feed_ = &feed;
    std::optional<FeedTerm> term = type(spec.value);
    if (term && term->kind == FeedTerm::Kind::kWord) {
      wrong(spec.value, "a word by itself has no vocabulary; expected a field, or a word joined to one: ['<s>', english]");
      return std::nullopt;
    }
    if (term && term->kind == FeedTerm::Kind::kNumber) {
      wrong(spec.value,
            "a number by itself is the same for all examples; expected a field, or numbers joined to one: [0, prices]");
      return std::nullopt;
    }
    if (term) {
      feed.depth = term->depth;
      feed.numbers = term->numbers;
      feed.field = term->vocabulary;
    }
    return term;
  }

 private:
  std::optional<FeedTerm> type(const ir::Expression& e) {
    using Kind = ir::Expression::Kind;
    switch (e.kind) {
      case Kind::kName: return field(e);
      case Kind::kWord: {
        FeedTerm term;
        term.kind = FeedTerm::Kind::kWord;
        term.word = e.text;
        return term;
      }
      case Kind::kNumber: return number(e, e.number);
      case Kind::kList: return join(e);
      case Kind::kIndex: return subscript(e);
      case Kind::kCall:
        if (e.text == "length") return length(e);
        if (is_negative(e)) return number(e, -e.operands[0].number);
        return wrong(e, fmt::format("'{}' is not known to feeds; expected fields, [a, b], x[1:] and length(x)", e.text));
      default: return wrong(e, "expected fields, words in quotes, [a, b], x[1:] and length(x)");
    }
  }

  std::optional<FeedTerm> field(const ir::Expression& e) {
    for (std::size_t i = 0; i < data_.fields.size(); ++i) {
      const FieldSpec& f = data_.fields[i];
      if (!e.is_name(f.name)) continue;
      feed_->fields.insert(f.name);
      FeedTerm term;
      term.field = i;
      term.depth = field_depth(data_, f);
      term.numbers = f.numbers;
      if (!f.numbers) term.vocabulary = f.vocabulary_of();
      return term;
    }
    std::vector<std::string> names;
    for (const FieldSpec& f : data_.fields) {
      if (!f.name.empty() && std::find(names.begin(), names.end(), f.name) == names.end()) names.push_back(f.name);
    }
    const std::string near = did_you_mean(e.dotted(), names);
    problem("E0412 unknown-name", e, fmt::format("no field '{}' in data", e.dotted()),
            fmt::format("{}{}the fields are {}", near, near.empty() ? "" : " ", fmt::join(names, ", ")));
    return std::nullopt;
  }

  static bool is_negative(const ir::Expression& e) {
    return e.kind == ir::Expression::Kind::kCall && e.text == "neg" && e.operands.size() == 1 &&
           e.operands[0].kind == ir::Expression::Kind::kNumber;
  }

  std::optional<FeedTerm> number(const ir::Expression& e, double value) {
    if (!std::isfinite(static_cast<float>(value))) return wrong(e, "the number is beyond float32, which ends at 3.4e38");
    FeedTerm term;
    term.kind = FeedTerm::Kind::kNumber;
    term.numbers = true;
    term.number = bits_of(static_cast<float>(value));
    return term;
  }

  std::optional<FeedTerm> join(const ir::Expression& e) {
    FeedTerm term;
    term.kind = FeedTerm::Kind::kJoin;
    const FeedTerm* typed = nullptr;
    for (const ir::Expression& operand : e.operands) {
      std::optional<FeedTerm> part = type(operand);
      if (!part) return std::nullopt;
      term.parts.push_back(std::move(*part));
    }
    for (std::size_t i = 0; i < term.parts.size(); ++i) {
      const FeedTerm& part = term.parts[i];
      if (part.kind == FeedTerm::Kind::kWord || part.kind == FeedTerm::Kind::kNumber) continue;
      if (part.vocabulary.empty() && !part.numbers) {
        return wrong(e.operands[i], "lengths can't be joined; expected fields or words");
      }
      if (typed && typed->numbers != part.numbers) {
        return wrong(e.operands[i], "numbers joined to entries of a vocabulary; expected all of one kind");
      }
      if (typed && typed->vocabulary != part.vocabulary) {
        return wrong(e.operands[i], fmt::format("entries of '{}' joined to those of '{}': their vocabularies differ",
                                                part.vocabulary, typed->vocabulary));
      }
      if (!typed) typed = &part;
      term.depth = std::max(term.depth, part.depth);
    }
    if (!typed) return wrong(e, "expected at least one field, to which words and numbers are joined");
    for (std::size_t i = 0; i < term.parts.size(); ++i) {
      const FeedTerm::Kind kind = term.parts[i].kind;
      if (kind == FeedTerm::Kind::kWord && typed->numbers) {
        return wrong(e.operands[i], "a word among numbers: a FLOAT field has no vocabulary");
      }
      if (kind == FeedTerm::Kind::kNumber && !typed->numbers) {
        return wrong(e.operands[i], "a number among entries of a vocabulary; expected a word in quotes: ['<s>', english]");
      }
    }
    term.numbers = typed->numbers;
    term.vocabulary = typed->vocabulary;
    term.depth = std::max(term.depth, 1);
    for (std::size_t i = 0; i < term.parts.size(); ++i) {
      if (term.depth == 2 && term.parts[i].depth != 2) {
        return wrong(e.operands[i], "only a sequence of sequences can be joined to one");
      }
    }
    for (FeedTerm& part : term.parts) {
      if (part.kind == FeedTerm::Kind::kWord) part.vocabulary = term.vocabulary;
    }
    return term;
  }

  std::optional<FeedTerm> subscript(const ir::Expression& e) {
    std::optional<FeedTerm> of = type(e.operands[0]);
    if (!of) return std::nullopt;
    if (of->depth == 0 || of->kind == FeedTerm::Kind::kWord) return wrong(e, "only a sequence has elements and slices");
    if (e.subscripts.size() != 1) return wrong(e, "expected one index or slice: of the first sequence axis");
    const ir::Subscript& s = e.subscripts[0];
    FeedTerm term;
    term.kind = s.slice ? FeedTerm::Kind::kSlice : FeedTerm::Kind::kAt;
    term.depth = of->depth - (s.slice ? 0 : 1);
    term.numbers = of->numbers;
    term.vocabulary = of->vocabulary;
    if (s.begin && !whole(*s.begin, term.begin)) return std::nullopt;
    if (s.end && !whole(*s.end, term.end)) return std::nullopt;
    term.open_end = !s.end;
    term.parts.push_back(std::move(*of));
    return term;
  }

  std::optional<FeedTerm> length(const ir::Expression& e) {
    if (e.operands.size() != 1 || !e.keywords.empty()) return wrong(e, "length takes one sequence: length(words)");
    std::optional<FeedTerm> of = type(e.operands[0]);
    if (!of) return std::nullopt;
    if (of->depth == 0) return wrong(e, "only a sequence has a length");
    FeedTerm term;
    term.kind = FeedTerm::Kind::kLength;
    term.depth = of->depth - 1;
    term.parts.push_back(std::move(*of));
    return term;
  }

  // An integer literal, possibly with a minus.
  bool whole(const ir::Expression& e, std::int64_t& value) {
    const bool negative = is_negative(e);
    const ir::Expression& number = negative ? e.operands[0] : e;
    if (number.kind != ir::Expression::Kind::kNumber || !number.integral || number.number > 1e9) {
      wrong(e, "expected a whole number");
      return false;
    }
    value = static_cast<std::int64_t>(number.number) * (negative ? -1 : 1);
    return true;
  }

  std::nullopt_t wrong(const ir::Expression& e, std::string text) {
    problem("E0413 bad-feed", e, fmt::format("feed '{}': {}", feed_->name, text), "");
    return std::nullopt;
  }
  void problem(std::string code, const ir::Expression& e, std::string text, std::string help) {
    Diagnostic d;
    d.code = std::move(code);
    d.at = e.at;
    d.text = std::move(text);
    if (!help.empty()) d.notes.push_back("help: " + help);
    problems_.push_back(std::move(d));
  }

  const DataSpec& data_;
  std::vector<Diagnostic>& problems_;
  Feed* feed_ = nullptr;
};

FeedPlan::FeedPlan(const DataSpec& data, std::vector<Diagnostic>& problems)
    : stream_(data.format == Format::kStream), at_(data.at.feeds) {
  Typer typer(data, problems);
  for (const FeedExpression& spec : data.feeds) {
    Feed feed;
    feed.name = spec.name;
    feed.at = spec.at;
    if (this->feed(spec.name)) {
      Diagnostic d;
      d.code = "E0416 named-twice";
      d.at = spec.at;
      d.text = fmt::format("a second feed '{}'", spec.name);
      problems.push_back(std::move(d));
      continue;
    }
    std::optional<FeedTerm> term = typer.type(spec, feed);
    feed.sound = term.has_value();
    feeds_.push_back(std::move(feed));
    terms_.push_back(term ? std::move(*term) : FeedTerm());
  }
}

const FeedPlan::Feed* FeedPlan::feed(std::string_view name) const {
  for (const Feed& feed : feeds_) {
    if (feed.name == name) return &feed;
  }
  return nullptr;
}

bool FeedPlan::sound() const {
  return std::all_of(feeds_.begin(), feeds_.end(), [](const Feed& feed) { return feed.sound; });
}

void FeedPlan::collect_words(const FeedTerm& term, const std::string& field, std::vector<std::string>& words) {
  if (term.kind == FeedTerm::Kind::kWord && term.vocabulary == field &&
      std::find(words.begin(), words.end(), term.word) == words.end()) {
    words.push_back(term.word);
  }
  for (const FeedTerm& part : term.parts) collect_words(part, field, words);
}

std::vector<std::string> FeedPlan::words_of(const std::string& field) const {
  std::vector<std::string> words;
  for (const FeedTerm& term : terms_) collect_words(term, field, words);
  return words;
}

void FeedPlan::bind(FeedTerm& term, const Vocabularies& vocabularies) {
  if (term.kind == FeedTerm::Kind::kWord) {
    const auto found = vocabularies.find(term.vocabulary);
    GRAPHRUN_CHECK(found != vocabularies.end(), "FeedPlan::bind: no vocabulary of field " + term.vocabulary);
    if (!found->second.has(term.word)) {
      throw UserError(
          ExitCode::kBadData, "E0647 no-unknown-entry",
          fmt::format("the vocabulary of field '{}' has no entry '{}', which a feed writes", term.vocabulary, term.word));
    }
    term.number = found->second.number(term.word);
  }
  for (FeedTerm& part : term.parts) bind(part, vocabularies);
}

void FeedPlan::bind(const Vocabularies& vocabularies) {
  for (FeedTerm& term : terms_) bind(term, vocabularies);
}

void FeedPlan::need(std::string_view name, const Shape& shape) {
  const auto feed = std::find_if(feeds_.begin(), feeds_.end(), [&](const Feed& f) { return f.name == name; });
  GRAPHRUN_CHECK(feed != feeds_.end(), "FeedPlan::need: no feed " + std::string(name));
  feed->needed = true;
  feed->shape = str(shape);
  feed->sizes.assign(static_cast<std::size_t>(feed->depth), kAnySize);
  if (stream_) return;  // the examples of a stream are windows
  for (std::size_t axis = 0; axis < std::min(feed->sizes.size(), shape.size()); ++axis) {
    if (shape[axis].is_constant()) feed->sizes[axis] = shape[axis].constant();
  }
}

bool FeedPlan::takes_element(const FeedTerm& term) {
  return term.kind == FeedTerm::Kind::kAt || std::any_of(term.parts.begin(), term.parts.end(), takes_element);
}

bool FeedPlan::may_not_fit(std::size_t feed) const {
  const auto& sizes = feeds_[feed].sizes;
  return takes_element(terms_[feed]) || std::any_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n != kAnySize; });
}

void FeedPlan::check_sizes(const Feed& feed, const Nested& value) {
  const auto refuse = [&](const std::string& which, std::int64_t found, std::int64_t expected) {
    throw UserError(
        ExitCode::kBadData, "E0623 feed-shape",
        fmt::format("{}feed '{}' has {}; expected {}", which, feed.name, counted(found, feed.numbers ? "number" : "element"),
                    expected),
        {fmt::format("note: input '{}' of the graph is {}; the feed is at {}", feed.name, feed.shape, feed.at.str())});
  };
  if (!feed.sizes.empty() && feed.sizes[0] != kAnySize && value.steps() != feed.sizes[0]) {
    refuse("", value.steps(), feed.sizes[0]);
  }
  if (feed.sizes.size() < 2 || feed.sizes[1] == kAnySize) return;
  for (std::size_t t = 0; t < value.lengths.size(); ++t) {
    if (value.lengths[t] != feed.sizes[1]) refuse(fmt::format("step {} of ", t + 1), value.lengths[t], feed.sizes[1]);
  }
}

Nested FeedPlan::evaluate(std::size_t feed, const std::vector<Nested>& fields) const {
  Nested value = evaluate(terms_[feed], fields);
  check_sizes(feeds_[feed], value);
  return value;
}

namespace {

// Steps [begin, end) of the first axis.
Nested slice_of(Nested value, std::int64_t begin, std::int64_t end) {
  Nested part;
  part.depth = value.depth;
  if (value.depth == 1) {
    part.values.assign(value.values.begin() + begin, value.values.begin() + end);
    return part;
  }
  std::int64_t first = 0, count = 0;
  for (std::int64_t i = 0; i < end; ++i) (i < begin ? first : count) += value.lengths[static_cast<std::size_t>(i)];
  part.values.assign(value.values.begin() + first, value.values.begin() + first + count);
  part.lengths.assign(value.lengths.begin() + begin, value.lengths.begin() + end);
  return part;
}

Nested length_of(const Nested& value) {
  Nested length;
  length.depth = value.depth - 1;
  if (value.depth == 1) {
    length.values = {static_cast<std::int32_t>(value.values.size())};
  } else {
    length.values = value.lengths;
  }
  return length;
}

// The begin and end of Python's x[begin:end] for a sequence of `steps`.
std::pair<std::int64_t, std::int64_t> bounds_of(std::int64_t begin, std::int64_t end, bool open_end, std::int64_t steps) {
  const auto clamp = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + steps : i, 0, steps); };
  const std::int64_t first = clamp(begin), last = open_end ? steps : clamp(end);
  return {first, std::max(first, last)};
}

}  // namespace

std::optional<FeedPlan::Run> FeedPlan::run_of(std::size_t feed,
                                              const std::function<std::int64_t(std::size_t field)>& steps) const {
  return run_of(terms_[feed], steps);
}

std::optional<FeedPlan::Run> FeedPlan::run_of(const FeedTerm& term,
                                              const std::function<std::int64_t(std::size_t field)>& steps) {
  if (term.depth != 1) return std::nullopt;
  if (term.kind == FeedTerm::Kind::kField) return Run{term.field, 0, steps(term.field)};
  if (term.kind != FeedTerm::Kind::kSlice) return std::nullopt;
  std::optional<Run> run = run_of(term.parts[0], steps);
  if (!run) return std::nullopt;
  const auto [begin, end] = bounds_of(term.begin, term.end, term.open_end, run->end - run->begin);
  return Run{run->field, run->begin + begin, run->begin + end};
}

Nested FeedPlan::evaluate(const FeedTerm& term, const std::vector<Nested>& fields) const {
  using Kind = FeedTerm::Kind;
  switch (term.kind) {
    case Kind::kField: return fields[term.field];
    case Kind::kWord:
    case Kind::kNumber: return {0, {term.number}, {}};
    case Kind::kLength: return length_of(evaluate(term.parts[0], fields));
    case Kind::kJoin: {
      Nested joined;
      joined.depth = term.depth;
      for (const FeedTerm& part : term.parts) {
        const Nested value = evaluate(part, fields);
        joined.values.insert(joined.values.end(), value.values.begin(), value.values.end());
        joined.lengths.insert(joined.lengths.end(), value.lengths.begin(), value.lengths.end());
      }
      return joined;
    }
    case Kind::kSlice: {
      Nested value = evaluate(term.parts[0], fields);
      const auto [begin, end] = bounds_of(term.begin, term.end, term.open_end, value.steps());
      return slice_of(std::move(value), begin, end);
    }
    case Kind::kAt: {
      Nested value = evaluate(term.parts[0], fields);
      const std::int64_t steps = value.steps(), at = term.begin < 0 ? term.begin + steps : term.begin;
      if (at < 0 || at >= steps) {
        throw UserError(ExitCode::kBadData, "E0648 index-outside",
                        fmt::format("a feed takes element {} of an example of {} steps", term.begin, steps));
      }
      Nested part = slice_of(std::move(value), at, at + 1);
      part.depth = term.depth;
      part.lengths.clear();
      return part;
    }
  }
  return {};
}

}  // namespace graphrun
