// Compares word alignments with gold alignments: the alignment error rate (Och and Ney 2003) and its soft form (Tu et al.
// 2016).
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace graphrun {

using Link = std::pair<std::int64_t, std::int64_t>;  // positions of a source and a target word, from 0

// Possible links include the sure ones.
struct GoldAlignment {
  std::set<Link> sure, possible;
};

// The location of a line, for messages.
struct LinePlace {
  std::string file;
  std::int64_t line = 0;
};

// "1-1 2p3": sure links by "-", possible ones by "p". `from`: the number of a sentence's first word. Throws UserError
// (kBadData, E0658) for anything else.
GoldAlignment parse_gold(const std::string& line, std::int64_t from, const LinePlace& place);
// "0-0 1-2", the format of Moses and fast_align.
std::set<Link> parse_links(const std::string& line, std::int64_t from, const LinePlace& place);
// "0.9,0.1 0.2,0.8", Marian's format of soft alignments: by target word, the weights of the source words.
std::vector<std::vector<double>> parse_weights(const std::string& line, const LinePlace& place);

// Sums over a set.
class AlignmentErrorRate {
 public:
  void add(const std::set<Link>& links, const GoldAlignment& gold);
  void add(const std::vector<std::vector<double>>& weights, const GoldAlignment& gold);
  // 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), with weights instead of counts for soft alignments; 0 if there are no links at all.
  double rate() const;
  // |A ∩ P| / |A| and |A ∩ S| / |S|.
  double precision() const { return made_ > 0 ? possible_ / made_ : 0; }
  double recall() const { return gold_ > 0 ? sure_ / gold_ : 0; }

 private:
  double sure_ = 0, possible_ = 0;  // links that are also in the gold alignment
  double made_ = 0, gold_ = 0;      // all links; all sure links
};

}  // namespace graphrun
