// Runs a trained model on lines of text. The job's infer block says what is read and written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/communicator/communicator.h"
#include "runtime/device/device.h"
#include "tools/data/inference_reader.h"
#include "tools/model/model_folder.h"
#include "tools/text/lines.h"

namespace graphrun {

// Options for an infer block that generates; absent ones are as in the job.
struct GenerateOptions {
  std::int64_t beam = 0, n_best = 0;  // 0: as in the job
  std::string prefix, force;          // files with a text for each line: the beginning of its words; all of its words
  std::string alignments;             // the file for links, with a line for each written line
  bool all_words = false;             // without the block's shortlist
  bool json = false;                  // an object for each line, also for a block that does not generate
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;

  // Whether they affect the search or sampling of words.
  bool searches() const { return beam > 0 || n_best > 0 || temperature || top_k || seed; }
  // Whether any of them applies only to generated words.
  bool of_words() const { return searches() || all_words || !prefix.empty() || !force.empty() || !alignments.empty(); }
};

// Lines that are not text. Each gives an empty line, with a warning on stderr; or the first one ends the run.
class BadLines {
 public:
  // `warns`: otherwise another process prints the warnings.
  BadLines(bool stop, bool warns) : stop_(stop), warns_(warns) {}
  void read_with(ReadingOptions& reading);  // `reading` must not outlive it
  void tell_total() const;                  // prints the total to stderr, if there were any

 private:
  const bool stop_, warns_;
  std::int64_t number_ = 0;
};

struct InferOptions {
  std::string mode;  // name of an infer block; empty: the first
  GenerateOptions generate;
  std::int64_t rows = 0;                             // the most lines in a batch; 0: as in the job
  std::int64_t ahead = InferenceReader::kReadAhead;  // see ReadingOptions
  std::vector<std::string> fetches;                  // names of tensors anywhere in the graph
  bool stop_at_bad_lines = false;                    // see BadLines
  bool from_stdin = false;                           // the source of the lines
  // Whether this process writes the results and prints warnings.
  bool writes() const { return together == nullptr || together->rank() == 0; }
  std::string fetch_file;  // the safetensors file for `fetches`: "0/NAME" of the first batch
  const Device* device = &cpu_device();
  Communicator* together = nullptr;           // processes that share the lines of a file; null if there is only this one
  WeightForm weights = WeightForm::kFloat32;  // used if there is no infer block, which has its own setting
};

// Sets the longest line that the infer block allows; warnings about longer ones go to stderr, if it `warns`.
void take_limit(ReadingOptions& reading, const InferSpec& mode, bool warns);

// Checks every infer block of a job against its graph (in inference): names, ops, type, the scan that generates, the begin and
// end symbols. Throws UserError (kInvalidGraph: E0417, and errors of cut_for_generation) with all mistakes and their locations
// in the job.
void check_infer(const ir::Graph& graph, const Network& network);

// The infer block of that name; the first if the name is empty. Throws UserError: (kUsage) E0425 unknown-mode; (kInvalidGraph)
// E0424 no-infer if the job has none, with `help`.
const InferSpec& infer_block(const LoadedJob& job, std::string_view name, std::string_view help = {});
// What the block says about alignment. Throws UserError (kUsage, E0429) if it has no `align`.
const AlignSpec& alignment_of(const InferSpec& mode);

// Writes one line for each line read, in order, flushed to stdout before more is read. Without an infer block, only computes
// `fetches` and writes nothing. With several processes, all of them call it, and process 0 writes. Throws PeerEnd, and
// UserError: (kUsage) E0425 unknown-mode; (kInvalidGraph) E0417 if `from` does not fit the graph, E0421; (kBadData) for an
// error in a line, except BadLines, after answering all lines before it.
void infer(const Network& network, const Parameters& parameters, std::unique_ptr<LineReader> lines,
           const InferOptions& options);

}  // namespace graphrun
