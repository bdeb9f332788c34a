// The pages that `graphrun help` prints: sections of graphs/README.md, the fields of graphs/job.proto with their comments, and
// the messages of graphs/errors.md. Each is written only there, and read from the graphs of this installation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

struct Topic {
  std::string name, summary;
};
// The topics other than commands, operators and messages.
const std::vector<Topic>& topics();

// The text of a topic. Throws UserError (kUsage, E0501) if the installation lacks the page.
std::string topic_text(const std::string& name);

// The fields of a job, or those at a path in it ("train.optimizer"), each with its comment. Throws UsageError for a path that
// no job has.
std::string job_fields(const std::string& path);

// The schema's comment about a field, a message or an enum value, by its full name in graph.proto or job.proto:
// "graphrun.Scan.lengths"; "" if there is none.
std::string schema_comment(const std::string& full_name);

struct JobField {
  std::string path;  // "train.optimizer.adam"; of a message that may be repeated without a name, "data.field.column"
  bool is_message = false;
};
// The fields of a job that have this name or may have a value of this name. Case is ignored, and '-' means '_'.
std::vector<JobField> job_fields_named(std::string_view name);
// The names of all fields of a job, and whether a name is one of its top-level fields.
std::vector<std::string> job_field_names();
bool is_part_of_job(const std::string& name);

// Whether `name` is, or is meant as, the code of a message: "E0306", "e306".
bool is_message_code(const std::string& name);
// The page's text about it. Throws UsageError if there is none.
std::string message_text(const std::string& code);

}  // namespace graphrun
