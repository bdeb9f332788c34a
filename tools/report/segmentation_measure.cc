#include "tools/report/tag_measure.h"

namespace graphrun {
namespace {

class Segmentation : public MatchMeasure {
 public:
  explicit Segmentation(const ir::Expression& e) : MatchMeasure(e, {"characters", "known"}) {}
  void bind(const VocabularyOf& vocabulary) override {
    for (const std::string& entry : entries_of(names_[0], vocabulary, kGoldIsAFeed).entries()) {
      const bool place = entry.size() == 1 && std::string_view("BMES").find(entry) != std::string_view::npos;
      if (!place && entry != kUnknown) {
        report_error(at_, fmt::format("the label '{}' of '{}' is not a position in a word", entry, names_[0].name),
                     "expected B, M, E and S");
      }
      places_.push_back(place ? entry[0] : 'S');
    }
    if (const NameUse* characters = further("characters")) {
      if (const Vocabulary* entries = vocabulary(characters->name)) unknown_character_ = entries->unknown();
    }
    const NameUse* known = further("known");
    if (!known) return;
    unknown_word_ = entries_of(*known, vocabulary, "known= is a feed of the gold words: a field with split: SPACE").unknown();
    if (unknown_word_ < 0) {
      report_error(known->at, fmt::format("the vocabulary of '{}' is closed: it would hold every word", known->name),
                   "leave out closed: words that it lacks are the unknown ones");
    }
  }
  void add(const BatchValues& values) override {
    const Pair pair = pair_of(values);
    const Tensor* characters = further("characters") ? &values.at(further("characters")->name) : nullptr;
    if (characters && (characters->sizes() != pair.gold->sizes() || characters->dtype() != DType::kInt32)) {
      report_error(further("characters")->at, fmt::format("characters are {}, tags are {}; expected equal sizes",
                                                          str(characters->sizes()), str(pair.gold->sizes())));
    }
    each_row(pair, [&](std::int64_t row, std::int64_t steps) {
      const auto gold = word_ends(places_of(*pair.gold, row, steps, 0));
      const auto predicted = word_ends(places_of(*pair.predicted, row, steps, 1));
      const auto read = characters ? row_of(*characters, row, steps) : std::vector<std::int32_t>();
      const std::vector<bool> common = common_words(gold, predicted, read, unknown_character_);
      matches_.gold += static_cast<std::int64_t>(gold.size());
      matches_.predicted += static_cast<std::int64_t>(predicted.size());
      matches_.correct += std::count(common.begin(), common.end(), true);
      if (further("known")) add_known(values.at(further("known")->name), row, common);
    });
  }
  std::vector<std::pair<std::string, double>> results() const override {
    auto results = MatchMeasure::results();
    if (!further("known")) return results;
    const auto share = [](std::int64_t part, std::int64_t all) {
      return all ? static_cast<double>(part) / static_cast<double>(all) : 0;
    };
    results.emplace_back(".oov_rate", share(unknown_, matches_.gold));
    results.emplace_back(".oov_recall", share(unknown_found_, unknown_));
    results.emplace_back(".iv_recall", share(matches_.correct - unknown_found_, matches_.gold - unknown_));
    return results;
  }
  void clear() override {
    MatchMeasure::clear();
    unknown_ = unknown_found_ = 0;
  }
  nlohmann::json state() const override {
    nlohmann::json state = MatchMeasure::state();
    state["unknown"] = unknown_;
    state["unknown_found"] = unknown_found_;
    return state;
  }
  void restore(const nlohmann::json& state) override {
    MatchMeasure::restore(state);
    unknown_ = state.at("unknown").get<std::int64_t>();
    unknown_found_ = state.at("unknown_found").get<std::int64_t>();
  }

 private:
  // `words`: the numbers of the gold words, [words, batch]; words that the vocabulary lacks are unknown.
  void add_known(const Tensor& words, std::int64_t row, const std::vector<bool>& common) {
    const Sizes& sizes = words.sizes();
    const bool fits = words.dtype() == DType::kInt32 && sizes.size() == 2 && row < sizes[1] &&
                      static_cast<std::int64_t>(common.size()) <= sizes[0];
    if (!fits) {
      report_error(
          further("known")->at,
          fmt::format("'{}' {} does not hold the {} words of row {}", further("known")->name, str(sizes), common.size(), row),
          "a field of the same data with split: SPACE has the words that the tags cut");
    }
    for (std::size_t i = 0; i < common.size(); ++i) {
      if (words.data<std::int32_t>()[static_cast<std::int64_t>(i) * sizes[1] + row] != unknown_word_) continue;
      ++unknown_;
      unknown_found_ += common[i];
    }
  }
  std::string places_of(const Tensor& tensor, std::int64_t row, std::int64_t steps, std::size_t name) const {
    std::string places;
    for (const std::int32_t number : row_of(tensor, row, steps)) places.push_back(label(places_, number, name));
    return places;
  }

  std::vector<char> places_;
  std::int32_t unknown_character_ = -1, unknown_word_ = -1;
  std::int64_t unknown_ = 0, unknown_found_ = 0;  // gold words that the list lacks; the correct ones among them
};

}  // namespace

std::unique_ptr<NamedMeasure> make_segmentation(const ir::Expression& e) { return std::make_unique<Segmentation>(e); }

}  // namespace graphrun
