// Checks that a resumed run has the same job, graphs and data as when it began.
#pragma once

#include <string>
#include <vector>

#include "tools/job/job.h"
#include "tools/model/layout.h"
#include "tools/model/model_folder.h"

namespace graphrun {

// Sizes and hashes of a job's data files and of everything else that its run begins with (vocabularies, subword models, word
// vectors, other models), as JSON for a model's folder. Throws what digest_file throws.
std::string data_digests(const LoadedJob& job);

// Copies the settings that may change when a run is resumed, because no computation depends on them: when it ends, when it
// saves, what its log shows. metrics.every_steps is not among them, because metrics.jsonl must equal that of an undisturbed
// run.
void copy_changeable(const Job& from, Job& to);

// Each of these throws UserError (kUsage) if something differs from what the run in the folder began with.

// E0523 other-job, with the fields that must not differ.
void check_same_job(const LoadedJob& job, const LoadedJob& begun, const std::string& folder);
// E0523 other-job, with the first file and line where the job's graphs differ from those of the run.
void check_same_graphs(LoadedJob job, const Network& begun, const ModelLayout& layout);
// E0524 other-data, with the files. Folders of older programs have no record and pass. If files that only the beginning of a
// run needs have changed or are missing, there is a warning, since the folder and its checkpoints keep their contents.
void check_same_data(const ModelLayout& layout, std::vector<Diagnostic>& warnings);

}  // namespace graphrun
