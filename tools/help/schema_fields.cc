// The fields of jobs and graphs: their names and types come from the compiled schemas, their meaning from the comments in
// graphs/job.proto and graphs/graph.proto.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "compiler/frontend/installation.h"
#include "graphs/job.pb.h"
#include "runtime/base/file.h"
#include "tools/cli/program.h"
#include "tools/help/topics.h"

namespace graphrun {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

constexpr std::size_t kCommentColumn = 34, kTextColumns = 120;
constexpr std::uint64_t kLargestSchema = 1 << 20;

// Two comments as sentences of one text; a remark in brackets needs no full stop before it.
std::string joined(std::string first, const std::string& second) {
  if (first.empty() || second.empty()) return first + second;
  if (std::string_view(".!?]").find(first.back()) == std::string_view::npos && second[0] != '[') first += '.';
  return first + " " + second;
}

// The comments of a schema by the name that they describe, "graphrun.Job.Train.epochs"; values of an enum are listed under the
// enum.
class Comments {
 public:
  explicit Comments(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
  }
  std::string of(const std::string& name) const {
    const auto it = comments_.find(name);
    return it == comments_.end() ? "" : it->second;
  }

 private:
  // Each line has one declaration, or a message with all its fields; comments are above or after them.
  void read(const std::string& line) {
    const std::size_t slashes = line.find("//");
    const std::string comment = slashes == std::string::npos ? "" : trimmed(line.substr(slashes + 2));
    std::string code = trimmed(line.substr(0, slashes));
    if (code.empty()) {
      above_ = comment.empty() ? "" : above_ + (above_.empty() ? "" : " ") + comment;
      return;
    }
    static const std::regex kOpens("^(package|message|enum|oneof) (\\w+)[ ;{]*"),
        kNamed("^(?:[\\w.]+ )*(\\w+) = \\d+(?: \\[[^\\]]*\\])?;");
    for (std::smatch m; !code.empty(); code = trimmed(code)) {
      if (std::regex_search(code, m, kOpens)) {
        if (m[1] == "package") {
          scope_ = {m[2]};
        } else {
          const bool named = m[1] != "oneof";
          scope_.push_back(named ? m.str(2) : "");
          if (named) note(scope(), m.suffix().length() == 0 ? comment : "");
        }
      } else if (std::regex_search(code, m, kNamed)) {
        note(scope() + "." + m.str(1), comment);
      } else if (code[0] == '}') {
        if (!scope_.empty()) scope_.pop_back();
        code.erase(0, 1);
        continue;
      } else {
        return;
      }
      code = m.suffix();
    }
  }
  // A field's own comment, behind it, comes before the one above it, which may be about several fields.
  void note(const std::string& name, const std::string& behind) {
    comments_[name] = joined(behind, above_);
    above_.clear();
  }
  std::string scope() const {
    std::string name;
    for (const std::string& part : scope_)
      if (!part.empty()) name += (name.empty() ? "" : ".") + part;
    return name;
  }
  static std::string trimmed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
    return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
  }

  std::vector<std::string> scope_;
  std::string above_;
  std::map<std::string, std::string> comments_;
};

class FieldList {
 public:
  explicit FieldList(const Comments& comments) : comments_(comments) {}
  void message(const Descriptor& type, std::size_t depth) {
    for (int i = 0; i < type.field_count(); ++i) field(*type.field(i), depth);
  }
  void field(const FieldDescriptor& f, std::size_t depth) {
    std::string comment = comments_.of(f.full_name());
    const auto say = [&](const std::string& more) { comment = joined(std::move(comment), more); };
    const Descriptor* type = f.message_type();
    const EnumDescriptor* values = f.enum_type();
    if (type != nullptr) say(comments_.of(type->full_name()));
    if (values != nullptr) say(comments_.of(values->full_name()));
    if (f.real_containing_oneof() != nullptr) say("[one of these]");
    if (f.is_repeated()) say("[may be repeated]");
    if (type != nullptr && type == f.containing_type()) {  // a graph within a graph
      line(depth, f.name() + " { … }", comment);
      return;
    }
    if (type != nullptr) {
      line(depth, f.name() + " {", comment);
      message(*type, depth + 1);
      line(depth, "}", "");
      return;
    }
    line(depth, f.name() + ": " + kind_of(f), comment);
    for (int k = 0; values != nullptr && k < values->value_count(); ++k)
      line(depth + 1, values->value(k)->name(), comments_.of(values->full_name() + "." + values->value(k)->name()));
  }
  std::string text() const { return text_; }

 private:
  static std::string kind_of(const FieldDescriptor& f) {
    switch (f.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: return "\"…\"";
      case FieldDescriptor::CPPTYPE_BOOL: return "true | false";
      case FieldDescriptor::CPPTYPE_ENUM: return "one of";
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT: return "number";
      default: return "whole number";
    }
  }

  void line(std::size_t depth, const std::string& name, const std::string& comment) {
    std::string line = std::string(2 * depth, ' ') + name;
    std::size_t columns = line.size() - (name.find("…") != std::string::npos ? 2 : 0);  // the ellipsis takes three bytes
    for (std::size_t at = 0; at < comment.size();) {
      line += std::string(columns < kCommentColumn ? kCommentColumn - columns : 2, ' ');
      const std::size_t room = kTextColumns - std::max(kCommentColumn, columns + 2);
      std::size_t end = comment.size() - at <= room ? comment.size() : comment.rfind(' ', at + room);
      if (end == std::string::npos || end <= at) end = std::min(comment.find(' ', at), comment.size());
      line += comment.substr(at, end - at);
      at = end + 1;
      if (at >= comment.size()) break;
      text_ += line + "\n";
      line.clear();
      columns = 0;
    }
    text_ += line + "\n";
  }

  const Comments& comments_;
  std::string text_;
};

// Visits every field of a message and of its submessages, with its path.
template <class Visit>
void for_each_field(const Descriptor& type, const std::string& path, const Visit& visit) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    visit(field, path + field.name());
    if (field.message_type() != nullptr && field.message_type() != &type)
      for_each_field(*field.message_type(), path + field.name() + ".", visit);
  }
}

bool is_same_word(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '-' ? '_' : std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return plain(x) == plain(y); });
}

const Descriptor& root_of(Schema schema) {
  if (schema == Schema::kJob) return *Job::descriptor();
  // By name: the header of this schema declares a Node, as the compiler does.
  static const Descriptor* const graph =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName("graphrun.Graph");
  return *graph;
}

const Comments& comments_of(Schema schema) {
  const auto read = [](const char* name) {
    return Comments(read_file(frontend::installed_graphs() + "/" + name, kLargestSchema));
  };
  if (schema == Schema::kJob) {
    static const Comments job = read("job.proto");
    return job;
  }
  static const Comments graph = read("graph.proto");
  return graph;
}

}  // namespace

std::vector<SchemaField> fields_named(Schema schema, std::string_view name) {
  std::vector<SchemaField> found;
  for_each_field(root_of(schema), "", [&](const FieldDescriptor& field, const std::string& path) {
    bool is_meant = is_same_word(field.name(), name);
    for (int k = 0; field.enum_type() != nullptr && k < field.enum_type()->value_count(); ++k)
      is_meant |= is_same_word(field.enum_type()->value(k)->name(), name);
    if (is_meant) found.push_back({path, field.message_type() != nullptr});
  });
  return found;
}

std::vector<std::string> field_names(Schema schema) {
  std::set<std::string> names;
  for_each_field(root_of(schema), "", [&](const FieldDescriptor& field, const std::string&) { names.insert(field.name()); });
  return {names.begin(), names.end()};
}

bool is_part_of(Schema schema, const std::string& name) { return root_of(schema).FindFieldByName(name) != nullptr; }

std::string schema_comment(const std::string& full_name) {
  const std::string of_graph = comments_of(Schema::kGraph).of(full_name);
  return of_graph.empty() ? comments_of(Schema::kJob).of(full_name) : of_graph;
}

std::string schema_fields(Schema schema, const std::string& path) {
  const Descriptor& root = root_of(schema);
  FieldList list(comments_of(schema));
  if (path.empty()) {
    list.message(root, 0);
    return list.text();
  }
  const FieldDescriptor* found = nullptr;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    const Descriptor* type = found == nullptr ? &root : found->message_type();
    if (type == nullptr) throw UsageError(fmt::format("'{}' is a value of its own: it has no fields", found->name()));
    found = type->FindFieldByName(name);
    if (found == nullptr) {
      std::vector<std::string> known;
      for (int i = 0; i < type->field_count(); ++i) known.push_back(type->field(i)->name());
      const std::string near = did_you_mean(name, known);
      throw UsageError(fmt::format("a {} has no field '{}'{}", schema == Schema::kJob ? "job" : "graph", path.substr(0, end),
                                   near.empty() ? fmt::format("; there are: {}", fmt::join(known, ", ")) : "; " + near));
    }
    begin = end + 1;
  }
  list.field(*found, 0);
  return list.text();
}

}  // namespace graphrun
