// Completion: fields and their values by the schemas, and in texts the names that the language allows there.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/frontend/graph_paths.h"
#include "compiler/frontend/text_hints.h"
#include "compiler/ir/op.h"
#include "tools/help/topics.h"
#include "tools/lsp/features.h"
#include "tools/lsp/string_fields.h"

namespace graphrun::lsp {
namespace {

namespace pb = google::protobuf;
using frontend::Definition;
using frontend::Member;

// The protocol's numbers for kinds of items.
enum ItemKind {
  kItemFunction = 3,
  kItemField = 5,
  kItemVariable = 6,
  kItemModule = 9,
  kItemProperty = 10,
  kItemValue = 12,
  kItemEnum = 20,
  kItemFile = 17,
  kItemConstant = 21
};

// Where the quote of the text around an offset is; the offset itself in a comment; npos elsewhere.
std::size_t quote_before(std::string_view text, std::size_t offset) {
  for (std::size_t i = 0; i < offset && i < text.size(); ++i) {
    const std::size_t end = end_of_aside(text, i);
    if (end == i) continue;
    if (end >= offset) return text[i] == '#' ? offset : i;
    i = end;
  }
  return std::string_view::npos;
}

// A text up to the cursor, in parts.
struct TextBefore {
  std::string all;
  std::string word;               // the name that is being written, after the last dot
  std::vector<std::string> path;  // the names before it, joined by dots
  std::string run;                // the same as a path of a file: "cells/at"
  bool begins_binding = true;     // a binding's name may be here
  std::string open_call;          // the name before the innermost open parenthesis: "softmax", "cells/atr.pbtxt"
  std::string bound;              // the name of the binding that the value is of
};

TextBefore parts_of(const std::string& text) {
  TextBefore out;
  out.all = text;
  std::size_t word = text.size();
  while (word > 0 && part_of_name(text[word - 1])) --word;
  out.word = text.substr(word);
  std::size_t begin = word;
  while (begin > 0 && text[begin - 1] == '.') {
    std::size_t first = begin - 1;
    while (first > 0 && part_of_name(text[first - 1])) --first;
    if (first == begin - 1) break;
    out.path.insert(out.path.begin(), text.substr(first, begin - 1 - first));
    begin = first;
  }
  const auto path_char = [](char c) { return part_of_name(c) || c == '/' || c == '.' || c == '-'; };
  std::size_t run = text.size();
  while (run > 0 && path_char(text[run - 1])) --run;
  out.run = text.substr(run);
  std::vector<std::size_t> open;
  std::size_t binding = 0;
  for (std::size_t i = 0; i < begin; ++i) {
    if (text[i] == '(' || text[i] == '[') open.push_back(i);
    if ((text[i] == ')' || text[i] == ']') && !open.empty()) open.pop_back();
    if (text[i] == ',' && open.empty()) binding = i + 1;
  }
  if (!open.empty() && text[open.back()] == '(') {
    std::size_t end = open.back(), first = end;
    while (first > 0 && path_char(text[first - 1])) --first;
    out.open_call = text.substr(first, end - first);
  }
  const std::string current = text.substr(binding, begin - binding);
  const std::size_t equals = current.find('=');
  out.begins_binding = open.empty() && current.find_first_not_of(' ') == std::string::npos;
  if (equals != std::string::npos) {
    for (const char c : current.substr(0, equals)) {
      if (c != ' ') out.bound += c;
    }
  }
  return out;
}

class Completer {
 public:
  Completer(Workspace& workspace, const Cursor& at)
      : workspace_(workspace), at_(at), a_(workspace.analysis(at.path, Depth::kNames)) {}

  Json items() {
    const std::size_t quote = quote_before(a_.text, at_.offset);
    if (quote == at_.offset) return std::move(items_);
    if (quote == std::string_view::npos) {
      outside();
    } else {
      inside(quote);
    }
    return std::move(items_);
  }

 private:
  void item(const std::string& label, ItemKind kind, const std::string& detail, const std::string& insert,
            std::size_t replaced) {
    if (!seen_.insert(label + "\n" + insert).second) return;
    items_.push_back(
        {{"label", label},
         {"kind", static_cast<int>(kind)},
         {"detail", detail},
         {"textEdit",
          {{"range", range_json(a_.text, at_.offset - replaced, at_.offset, workspace_.encoding())}, {"newText", insert}}}});
  }
  static std::string comment_about(const std::string& full_name) {
    try {
      return schema_comment(full_name);
    } catch (const UserError&) {
      return "";  // the installation lacks the schema
    }
  }

  // Fields of the message, or values of the field before.
  void outside() {
    std::size_t begin = at_.offset;
    while (begin > 0 && part_of_name(a_.text[begin - 1])) --begin;
    const std::size_t replaced = at_.offset - begin;
    const std::string_view before = std::string_view(a_.text).substr(0, begin);
    const pb::Descriptor* const type = text_hints::open_message(before, a_.message->GetDescriptor());
    if (type == nullptr) return;
    if (const pb::FieldDescriptor* field = text_hints::field_before(before, type)) {
      if (field->enum_type() != nullptr) {
        for (int k = 0; k < field->enum_type()->value_count(); ++k) {
          const std::string& name = field->enum_type()->value(k)->name();
          item(name, kItemEnum, comment_about(field->enum_type()->full_name() + "." + name), name, replaced);
        }
      } else if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_BOOL) {
        for (const char* word : {"true", "false"}) item(word, kItemValue, "", word, replaced);
      }
      return;
    }
    for (int i = 0; i < type->field_count(); ++i) {
      const pb::FieldDescriptor& field = *type->field(i);
      const char* const value = field.message_type() != nullptr                           ? " { "
                                : field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING ? ": \""
                                                                                          : ": ";
      item(field.name(), kItemField, comment_about(field.full_name()), field.name() + value, replaced);
    }
  }

  void inside(std::size_t quote) {
    inside_ = a_.in_readable(at_.offset);
    std::optional<StringField> field = string_at(a_.places, *a_.message->GetDescriptor(), inside_);
    TextSyntax kind = TextSyntax::PLAIN;
    std::string message, name;
    if (field) {
      kind = field->syntax, message = field->message, name = field->name;
    } else {
      const std::string_view before = std::string_view(a_.text).substr(0, quote);
      const pb::Descriptor* const type = text_hints::open_message(before, a_.message->GetDescriptor());
      const pb::FieldDescriptor* const found = text_hints::field_before(before, type);
      if (type == nullptr || found == nullptr) return;
      kind = found->options().GetExtension(syntax), message = type->name(), name = found->name();
    }
    std::string before = a_.text.substr(quote + 1, at_.offset - quote - 1);
    // Literals before this one belong to the same text.
    if (field) {
      const BytePlace place = TextPositions(a_.text).place(at_.offset);
      if (const auto offset = offset_in_text(field->value->text, place.line, place.column))
        before = field->value->text.text.substr(0, *offset);
    }
    const TextBefore parts = parts_of(before);
    if (a_.job) return in_job(kind, message, name, parts);
    const Definition* const d = definition_at(a_, inside_);
    switch (kind) {
      case TextSyntax::CALL:
        if (d != nullptr) {
          for (const frontend::InstanceDef& i : d->instances) item(i.name, kItemModule, "", i.name, parts.word.size());
        }
        break;
      case TextSyntax::SIZE:
        if (d != nullptr) {
          for (const std::string& s : d->symbols) item(s, kItemConstant, "size", s, parts.word.size());
        }
        break;
      case TextSyntax::OPERATOR: operators(parts, ""); break;
      case TextSyntax::BINDINGS:
        if (name == "import") {
          if (!parts.bound.empty()) paths(parts);
          break;
        }
        if (d != nullptr && field && parts.begins_binding) bound_names(*d, *field, name, parts);
        if (d != nullptr) values(*d, parts);
        if (name == "arg") paths(parts);
        break;
      case TextSyntax::EXPRESSION:
      case TextSyntax::EQUATION:
      case TextSyntax::SHAPE:
        if (name == "graph") {
          graphs(d, parts);
        } else if (d != nullptr) {
          values(*d, parts);
        }
        break;
      default: break;
    }
  }

  // Names that a value may consist of.
  void values(const Definition& d, const TextBefore& parts) {
    const std::size_t replaced = parts.word.size();
    if (!parts.path.empty()) return members(d, parts);
    attributes(parts, &d);
    static constexpr const char* kKinds[] = {"import", "arg", "input", "parameter", "state", "equation", "call"};
    for (const auto& [name, m] : d.members) {
      item(name, m.kind == Member::Kind::kInstance ? kItemModule : kItemVariable, kKinds[static_cast<std::size_t>(m.kind)],
           name, replaced);
    }
    for (const std::string& s : d.symbols) item(s, kItemConstant, "size", s, replaced);
    for (const Definition* outer = d.outer; outer != nullptr; outer = outer->outer) {
      for (const auto& [name, m] : outer->statics) item(name, kItemVariable, "of the graph around this one", name, replaced);
    }
    operators(parts, "(");
    item("next", kItemFunction, "the value of a state after the step", "next(", replaced);
    item("step", kItemFunction, "the number of the step", "step()", replaced);
    item("history", kItemFunction, "a value at all steps so far", "history(", replaced);
  }

  void operators(const TextBefore& parts, const std::string& behind) {
    for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
      if (op->internal || op->update) continue;
      item(op->name, kItemFunction, op->doc.substr(0, op->doc.find('\n')), op->name + behind, parts.word.size());
    }
  }

  // The attributes of the operator, or the args of the graph, in whose parentheses the cursor is.
  void attributes(const TextBefore& parts, const Definition* d) {
    const std::size_t replaced = parts.word.size();
    if (const ir::OpSchema* op = ir::OpRegistry::instance().find(parts.open_call)) {
      for (const ir::AttributeSpec& a : op->attributes) item(a.name, kItemProperty, a.doc, a.name + "=", replaced);
      return;
    }
    const Definition* named = nullptr;
    if (parts.open_call.ends_with(".pbtxt")) {
      named = a_.library->load(parts.open_call, a_.request.at);
    } else if (d != nullptr && !parts.open_call.empty()) {
      named = graph_named(a_, *d, name_expression(parts.open_call));
    }
    if (named != nullptr) args_of(*named, replaced);
  }

  static ir::Expression name_expression(const std::string& name) {
    ir::Expression e;
    e.kind = ir::Expression::Kind::kName;
    e.path = {name};
    return e;
  }

  void args_of(const Definition& d, std::size_t replaced) {
    for (const frontend::ArgDef& a : d.args)
      item(a.name, kItemProperty, a.doc.empty() ? "arg" : a.doc, a.name + " = ", replaced);
    for (const frontend::ImportDef& i : d.imports) item(i.name, kItemProperty, "import", i.name + " = ", replaced);
  }
  void inputs_of(const Definition& d, std::size_t replaced) {
    for (const frontend::InputDef& i : d.inputs)
      item(i.name, kItemProperty, i.doc.empty() ? "input" : i.doc, i.name + " = ", replaced);
  }

  // "encode." → its outputs; "encode.end." → its states.
  void members(const Definition& d, const TextBefore& parts) {
    const auto instance =
        std::find_if(d.instances.begin(), d.instances.end(), [&](const auto& i) { return i.name == parts.path[0]; });
    std::string of = parts.path[0];
    bool states = parts.path.size() > 1 && parts.path[1] == "end";
    const Member* const m = d.member(parts.path[0]);
    if (m != nullptr && m->kind == Member::Kind::kState) {
      of = d.states[m->index].of;
      states = true;
    }
    const Definition* callee = nullptr;
    if (instance != d.instances.end()) callee = graph_named(a_, d, instance->graph);
    for (const frontend::InstanceDef& i : d.instances) {
      if (i.name == of) callee = graph_named(a_, d, i.graph);
    }
    if (callee == nullptr) return;
    const std::size_t replaced = parts.word.size();
    if (states) {
      for (const frontend::StateDef& s : callee->states) item(s.name, kItemVariable, "state", s.name, replaced);
    } else if (parts.path.size() == 1) {
      for (const frontend::OutputDef& o : callee->outputs) item(o.name, kItemVariable, "output", o.name, replaced);
      item("end", kItemVariable, "its states after the last step", "end", replaced);
    }
  }

  // The names on the left side of a call's bindings.
  void bound_names(const Definition& d, const StringField& field, const std::string& name, const TextBefore& parts) {
    const std::size_t replaced = parts.word.size();
    if (field.message == "Node") {
      if (const ir::OpSchema* op = ir::OpRegistry::instance().find(field.places->text("op").text)) {
        for (const ir::AttributeSpec& a : op->attributes) item(a.name, kItemProperty, a.doc, a.name + " = ", replaced);
      }
      return;
    }
    const Definition* callee = nullptr;
    for (const ir::Expression& e : parsed_expression(field.places->text("graph"))) callee = graph_named(a_, d, e);
    if (callee == nullptr) return;
    if (name == "arg") return args_of(*callee, replaced);
    if (name != "begin") return inputs_of(*callee, replaced);
    for (const frontend::StateDef& s : callee->states) item(s.name, kItemProperty, "state", s.name + " = ", replaced);
  }

  void graphs(const Definition* d, const TextBefore& parts) {
    for (const Definition* at = d; at != nullptr; at = at->outer) {
      for (const frontend::ImportDef& i : at->imports) item(i.name, kItemModule, i.value.text, i.name, parts.word.size());
      for (const auto& local : at->graphs) item(local->name, kItemModule, "local graph", local->name, parts.word.size());
    }
    paths(parts);
  }

  void paths(const TextBefore& parts) {
    if (parts.open_call.ends_with(".pbtxt")) return attributes(parts, nullptr);
    const frontend::GraphPaths known(a_.request);
    for (const std::string& path : known.known({frontend::Namer::Kind::kFile, a_.path, ""})) {
      item(path, kItemFile, "graph", path, parts.run.size());
    }
  }

  void fields(const TextBefore& parts) {
    for_each_string(a_.places, *a_.message->GetDescriptor(), [&](const StringField& field) {
      if (field.syntax == TextSyntax::DECLARED && field.message == "Field") {
        item(field.value->text.text, kItemVariable, "field of the data", field.value->text.text, parts.word.size());
      }
    });
  }
  void outputs(const TextBefore& parts) {
    if (a_.definition == nullptr) return;
    for (const frontend::OutputDef& o : a_.definition->outputs)
      item(o.name, kItemVariable, "output", o.name, parts.word.size());
    for (const frontend::InputDef& i : a_.definition->inputs) item(i.name, kItemVariable, "input", i.name, parts.word.size());
  }

  void in_job(TextSyntax kind, const std::string& message, const std::string& name, const TextBefore& parts) {
    const std::size_t replaced = parts.word.size();
    if (kind == TextSyntax::GRAPH) return paths(parts);
    if (kind == TextSyntax::FIELD) return fields(parts);
    if (kind == TextSyntax::OUTPUT) return outputs(parts);
    if (kind == TextSyntax::REPORT) {
      for_each_string(a_.places, *a_.message->GetDescriptor(), [&](const StringField& field) {
        if (field.name != "report") return;
        for (const ir::Binding& b : parsed_bindings(field.value->text)) item(b.name, kItemVariable, "report", b.name, replaced);
      });
    } else if (message == "Job" && name == "arg") {
      argument(parts);
    } else if (name == "feed") {
      if (parts.begins_binding && a_.definition != nullptr) inputs_of(*a_.definition, replaced);
      fields(parts);
      item("length", kItemFunction, "the number of steps of a field", "length(", replaced);
    } else if (kind == TextSyntax::BINDINGS || kind == TextSyntax::REPORTS || kind == TextSyntax::EXPRESSION) {
      outputs(parts);
      fields(parts);
      attributes(parts, nullptr);
      operators(parts, "(");
    }
  }

  // The args of the job's graph, or by path of a graph that it imports; on the right side graphs and vocabularies.
  void argument(const TextBefore& parts) {
    if (parts.open_call == "vocabulary") return fields(parts);
    if (!parts.bound.empty()) {
      paths(parts);
      item("vocabulary", kItemFunction, "the number of entries of a field's vocabulary", "vocabulary(", parts.word.size());
      return;
    }
    const Definition* d = a_.definition;
    for (const std::string& name : parts.path) {
      const Member* const m = d != nullptr ? d->static_member(name) : nullptr;
      d = m != nullptr && m->kind == Member::Kind::kImport ? graph_named(a_, *d, d->imports[m->index].value) : nullptr;
    }
    if (d != nullptr) args_of(*d, parts.word.size());
  }

  Workspace& workspace_;
  const Cursor& at_;
  const Analysis& a_;
  std::size_t inside_ = 0;  // the cursor in a_.readable
  Json items_ = Json::array();
  std::set<std::string> seen_;
};

}  // namespace

Json completion(Workspace& workspace, const Cursor& at) {
  return {{"isIncomplete", false}, {"items", Completer(workspace, at).items()}};
}

}  // namespace graphrun::lsp
