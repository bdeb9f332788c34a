// Where everything of a model's folder stands. What `infer` and `evaluate` need is all in it; a training run keeps its
// checkpoints and its metrics there too.
//
//   manifest.json            format, version, sizes and hashes of those below down to graph.txt; written last
//   job.pbtxt                the job with every --set in it, and what stands for what it leaves out
//   graphs/…                 every graph file that the network is made of
//   graphs.json              which of them a path means, where that is not the path itself; absent where it always is
//   vocabularies/FIELD.txt   one entry a line
//   subwords/FIELD.model     SentencePiece's, of a field that is cut into subwords
//   shortlists/BLOCK.lex     the table of an infer block's shortlist, as it was, compressed or not
//   data.json                sizes and hashes of the data files, and of what else the run began with; older folders have none
//   graph.txt                the network as one expanded graph, to be read by people
//   best/step-…              the parameters: the best, or last, as the job keeps them (runtime/tensor/checkpoint.h)
//   candidates/step-…        parameters whose mean is to become the model (train.average)
//   checkpoints/step-…       from which a stopped run continues
//   tensorboard/…           event files, where the run writes them
//   metrics.jsonl            a run's figures, which come again bit for bit
//   speed.jsonl              how fast it went and how much memory it took
//   train.log                what it said, with times
//   starts.jsonl             the command, program and machine of every start
//   run.lock                 held by the process that trains
#pragma once

#include <string>

namespace graphrun {

struct ModelLayout {
  std::string root;

  std::string path(const std::string& name) const { return root + "/" + name; }
  std::string manifest() const { return path("manifest.json"); }
  std::string job() const { return path("job.pbtxt"); }
  std::string data() const { return path("data.json"); }
  std::string graphs() const { return path("graphs"); }
  std::string metrics() const { return path("metrics.jsonl"); }
  std::string events() const { return path("tensorboard"); }
  std::string checkpoints() const { return path("checkpoints"); }
  std::string speed() const { return path("speed.jsonl"); }
  std::string log() const { return path("train.log"); }
  std::string starts() const { return path("starts.jsonl"); }
  std::string lock() const { return path("run.lock"); }

  // Relative to the folder.
  static const char* meanings_name() { return "graphs.json"; }
  static std::string vocabulary_name(const std::string& field) { return "vocabularies/" + field + ".txt"; }
  static std::string subwords_name(const std::string& field) { return "subwords/" + field + ".model"; }
  static std::string table_name(const std::string& infer) { return "shortlists/" + infer + ".lex"; }
};

}  // namespace graphrun
