// The layout of a model's folder. It contains everything that `infer` and `evaluate` need; a training run also keeps its
// checkpoints and metrics there.
//
//   manifest.json            format, version, sizes and hashes of those below down to graph.txt; written last
//   job.pbtxt                the job with every --set applied, and with all defaults
//   graphs/…                 every graph file of the network
//   graphs.json              which of them a path means, if not the file of that path; optional
//   vocabularies/FIELD.txt   one entry per line
//   subwords/FIELD.model     SentencePiece's model of a field that is split into subwords
//   shortlists/BLOCK.lex     the table of an infer block's shortlist, unchanged, compressed or not
//   data.json                sizes and hashes of the data files, and of all else that the run began with; not in older folders
//   graph.txt                the network as one expanded graph, for people
//   best/step-…              the best or last parameters, as the job says (runtime/tensor/checkpoint.h)
//   candidates/step-…        parameters whose mean will be the model (train.average)
//   checkpoints/step-…       checkpoints, from which a stopped run continues
//   tensorboard/…           event files, if the run writes them
//   metrics.jsonl            a run's figures, reproducible bit for bit
//   speed.jsonl              its speed and memory
//   train.log                its log, with times
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
