// The pages that `graphrun help` prints: sections of graphs/README.md, the fields of the schemas with their comments, and the
// messages of graphs/errors.md. Each is written only there, and read from the graphs of this installation.
#pragma once

#include <cstdint>
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

// The schemas of the files that users write: graphs/job.proto and graphs/graph.proto.
enum class Schema : std::uint8_t { kJob, kGraph };

// The fields of a job or a graph, or those at a path in it ("train.optimizer", "parameter.init"), each with its comment. Throws
// UsageError for a path that it does not have.
std::string schema_fields(Schema schema, const std::string& path);

// The schema's comment about a field, a message or an enum value, by its full name in graph.proto or job.proto:
// "graphrun.Scan.lengths"; "" if there is none.
std::string schema_comment(const std::string& full_name);

struct SchemaField {
  std::string path;  // "train.optimizer.adam"; of a message that may be repeated without a name, "data.field.column"
  bool is_message = false;
};
// The fields that have this name or may have a value of this name. Case is ignored, and '-' means '_'.
std::vector<SchemaField> fields_named(Schema schema, std::string_view name);
// The names of all fields, and whether a name is one of the top-level fields.
std::vector<std::string> field_names(Schema schema);
bool is_part_of(Schema schema, const std::string& name);

// Whether `name` is, or is meant as, the code of a message: "E0306", "e306".
bool is_message_code(const std::string& name);
// The page's text about it. Throws UsageError if there is none.
std::string message_text(const std::string& code);

}  // namespace graphrun
