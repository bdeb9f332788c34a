// The shortlist of a batch: which words its rows can need, by the words of their input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/generation.h"
#include "tools/data/batch.h"
#include "tools/generate/search_options.h"
#include "tools/model/model_folder.h"
#include "tools/shortlist/shortlist.h"

namespace graphrun {

// Reports a mode's shortlist whose field does not fit the feeds of the cut network.
void check_shortlist(const Network& network, const InferSpec& mode, const GenerationGraphs& cut,
                     std::vector<Diagnostic>& problems);

class RowShortlists {
 public:
  // Reads the table. The mode has a shortlist that check_shortlist finds sound, and the cut was made with one. Throws UserError
  // (kBadData): Lexicon::read's.
  RowShortlists(const Network& network, const InferSpec& mode, const GenerationGraphs& cut, const SearchOptions& search);

  // The job's feeds that it reads.
  std::vector<std::string> feeds() const;
  // Adds the list of the batch to `feeds`, which has those. `prefix`: by row, or empty, words that it begins with.
  void add(std::int64_t rows, const std::vector<std::vector<std::int32_t>>& prefix, Feeds& feeds) const;

 private:
  struct SourceFeed {
    std::string feed, lengths;  // the feed with the words, [time, rows] or [rows]; that with each row's own number; empty: all
  };
  std::vector<SourceFeed> sources_;
  const std::string words_input_, allowed_input_;
  BatchShortlist shortlist_;
};

}  // namespace graphrun
