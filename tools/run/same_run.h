// A run is continued as it was begun: the same job, the same graphs, the same data.
#pragma once

#include <string>
#include <vector>

#include "tools/job/job.h"
#include "tools/model/layout.h"
#include "tools/model/model_folder.h"

namespace graphrun {

// Sizes and hashes of a job's data files, and of all else that its run begins with: vocabularies, subword models, word vectors
// and other models. As the JSON of a model's folder. Throws what digest_file throws.
std::string data_digests(const LoadedJob& job);

// What may change when a run is continued, because nothing that it computes depends on it: when it ends, when it saves, what
// its log shows. Not metrics.every_steps: metrics.jsonl is to be that of an undisturbed run.
void copy_changeable(const Job& from, Job& to);

// Each throws UserError (kUsage) where something is no longer what the run in the folder began with.

// E0523 other-job, naming the fields that differ and may not.
void check_same_job(const LoadedJob& job, const LoadedJob& begun, const std::string& folder);
// E0523 other-job, naming the first file and line that differ between the job's graphs and those of the run.
void check_same_graphs(LoadedJob job, const Network& begun, const ModelLayout& layout);
// E0524 other-data, naming the files. A folder of an older program has recorded nothing, and passes. Files that only the
// beginning of a run needs, which its folder and its checkpoints hold by now, get a warning where they have changed or are
// gone.
void check_same_data(const ModelLayout& layout, std::vector<Diagnostic>& warnings);

}  // namespace graphrun
