// The pages beside the graphs, as `graphrun help` prints them: sections of graphs/README.md, the fields of graphs/job.proto
// with their comments, the messages of graphs/errors.md. Each is written once, there, and read where the graphs of this
// installation lie.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

struct Topic {
  std::string name, summary;
};
// What there is beside commands, operators and messages.
const std::vector<Topic>& topics();

// The text of a topic. Throws UserError (kUsage, E0501) where the installation lacks the page.
std::string topic_text(const std::string& name);

// The fields of a job, or those at a path in it ("train.optimizer"), each with its comment. Throws UsageError for a path that
// no job has.
std::string job_fields(const std::string& path);

struct JobField {
  std::string path;  // "train.optimizer.adam"; of a message that may be repeated without a name, "data.field.column"
  bool is_message = false;
};
// The fields of a job that have this name, or a value of this name among those that they may have. Capitals do not matter, and
// '-' is '_'.
std::vector<JobField> job_fields_named(std::string_view name);
// The names of all fields, and whether a job begins with this one.
std::vector<std::string> job_field_names();
bool is_part_of_job(const std::string& name);

// Whether `name` is the code of a message, or may be meant as one: "E0306", "e306".
bool is_message_code(const std::string& name);
// What the page says of it. Throws UsageError where it says nothing.
std::string message_text(const std::string& code);

}  // namespace graphrun
