// Data sets, vocabularies and word vectors: reads them as training does, and makes every batch of an epoch.
#include <algorithm>

#include "tests/mutants/bytes.h"
#include "tests/mutants/kinds.h"
#include "tests/mutants/small_jobs.h"
#include "tools/data/batch_source.h"
#include "tools/data/field_vocabularies.h"
#include "tools/job/job.h"
#include "tools/train/word_vectors.h"

namespace graphrun::mutants {
namespace {

// A job that reads the files named below; its graph does not matter.
struct Reading {
  std::string name, format, fields, feeds, batch;
  std::vector<std::string> files;
};

const std::vector<Reading>& readings() {
  static const std::vector<Reading> kAll = {
      {"lines", "LINES", "field { name: \"a\" split: SPACE vocabulary { min_count: 2 } }", "a", "rows: 2", {"left"}},
      {"letters",
       "LINES",
       "field { name: \"a\" split: [SPACE, CHARACTER] normalize: [NFKC, LOWER] longest: 3 }",
       "a, l = length(a), m = length(length(a))",
       "tokens: 6 bucket_by: \"a\"",
       {"left"}},
      {"tsv",
       "TSV",
       "field { name: \"a\" column: 0 split: SPACE } field { name: \"b\" column: 1 split: SPACE vocabulary { share: \"a\" } } "
       "field { name: \"c\" column: 2 vocabulary { closed: true } }",
       "a, b = [b, '<end>'], n = length([b, '<end>']), c",
       "rows: 2 tokens: 12 bucket_by: \"b\"",
       {"pairs.tsv"}},
      {"jsonl",
       "JSONL",
       "field { name: \"sentence1\" split: SPACE } field { name: \"b\" key: \"sentence2\" split: CHARACTER } "
       "field { name: \"n\" } field { name: \"label\" key: \"gold_label\" vocabulary { closed: true } }",
       "sentence1, b, n, label",
       "rows: 2",
       {"pairs.jsonl"}},
      {"parallel",
       "PARALLEL",
       "field { name: \"a\" column: 0 split: SPACE } field { name: \"b\" column: 1 split: CHARACTER }",
       "a, b, l = length(b)",
       "rows: 2 bucket_by: \"a\"",
       {"left", "right"}},
      {"conll",
       "CONLL",
       "field { name: \"w\" column: 0 } field { name: \"l\" column: 0 split: CHARACTER } field { name: \"t\" column: 1 }",
       "w, l, t, n = length(w)",
       "rows: 2 bucket_by: \"w\"",
       {"train.conll"}},
      {"segmented",
       "SEGMENTED",
       "field { name: \"c\" split: CHARACTER normalize: NFC } field { name: \"t\" derive: BMES vocabulary { closed: true } }",
       "c, t, n = length(c)",
       "rows: 2 bucket_by: \"c\"",
       {"train.seg"}},
      {"stream",
       "STREAM",
       "field { name: \"a\" split: SPACE vocabulary { size: 6 } }",
       "a = a[:-1], b = a[1:]",
       "rows: 2 window: 3",
       {"train.txt"}},
      {"file",
       "LINES",
       "field { name: \"a\" split: SPACE vocabulary { file: \"vocabulary\" } }",
       "a",
       "rows: 2",
       {"left", "vocabulary"}},
      {"vectors", "LINES", "field { name: \"a\" split: SPACE }", "a", "rows: 2", {"left", "vectors.txt"}},
  };
  return kAll;
}

const std::string kReading = "of_reading";

class DataFiles : public Kind {
 public:
  explicit DataFiles(const std::string& folder) : folder_(folder), sound_(small_data()) {
    sound_["vocabulary"] = "<unk>\nuno\ndos\n";
    sound_["vectors.txt"] = "uno 0.1 0.2 0.3\ndos 1 2e-3 -3\n";
  }

  Files mutant(tests::Draw& random) const override {
    const Reading& reading = random.any(readings());
    Files files = {{kReading, reading.name}};
    do {
      const std::string& name = random.any(reading.files);
      files[name] = mutated_file(name, files.count(name) != 0 ? files.at(name) : sound_.at(name), random);
    } while (random.one_in(4));
    return files;
  }

  void run(const Files& files) const override {
    const auto named = files.find(kReading);
    if (named == files.end()) return;
    const auto reading =
        std::find_if(readings().begin(), readings().end(), [&](const Reading& r) { return r.name == named->second; });
    if (reading == readings().end()) return;
    Files all;
    std::string list;
    for (const std::string& name : reading->files) all[name] = files.count(name) != 0 ? files.at(name) : sound_.at(name);
    write_files(folder_, all);
    const std::string train = reading->format == "PARALLEL" ? "[\"left\", \"right\"]" : "\"" + reading->files.front() + "\"";
    const std::string job = "graph: \"tagger.pbtxt\" data { train: " + train + " format: " + reading->format + " " +
                            reading->fields + " feed: \"" + reading->feeds + "\" batch { " + reading->batch + " } }\n";
    LoadedJob loaded = parse_job(job, folder_ + "/job.pbtxt");
    std::optional<ReadExamples> examples;
    const Vocabularies vocabularies = build_vocabularies(loaded.data, *loaded.plan, &examples);
    if (reading->name == "vectors") {
      Tensor table(DType::kFloat32, {vocabularies.at("a").size(), 3});
      read_word_vectors({folder_ + "/vectors.txt", true}, vocabularies.at("a"), table);
    }
    loaded.plan->bind(vocabularies);
    DatasetOptions options;
    options.training = true;
    options.plan = loaded.plan.get();
    const Dataset set = examples ? std::move(*examples).take(loaded.data, *loaded.plan)
                                 : read_dataset(loaded.data, vocabularies, loaded.data.train, options);
    BatchOptions batches;
    batches.shuffle = loaded.data.format != Format::kStream;
    BatchSource source(loaded.data, *loaded.plan, set, batches);
    while (source.next()) {
    }
  }

 private:
  const std::string folder_;
  Files sound_;
};

}  // namespace

std::unique_ptr<Kind> make_data(const std::string& folder, Children&) { return std::make_unique<DataFiles>(folder); }

}  // namespace graphrun::mutants
