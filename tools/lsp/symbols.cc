// The outline of a file, and its formatting.
#include <fmt/format.h>

#include "tools/format/format.h"
#include "tools/lsp/features.h"
#include "tools/lsp/string_fields.h"

namespace graphrun::lsp {
namespace {

// The protocol's numbers for kinds of symbols.
enum SymbolIcon {
  kModule = 2,
  kNamespace = 3,
  kProperty = 7,
  kField = 8,
  kInterface = 11,
  kFunction = 12,
  kVariable = 13,
  kConstant = 14,
  kObject = 19,
  kEvent = 24
};

SymbolIcon icon_of(const std::string& field) {
  if (field == "import") return kModule;
  if (field == "graph") return kNamespace;
  if (field == "arg") return kConstant;
  if (field == "input") return kInterface;
  if (field == "parameter") return kField;
  if (field == "state") return kProperty;
  if (field == "let" || field == "node") return kVariable;
  if (field == "output" || field == "report") return kEvent;
  if (field == "infer") return kFunction;
  return kObject;
}

class Outline {
 public:
  Outline(const Analysis& a, Encoding encoding) : a_(a), encoding_(encoding) {}

  Json of(const Places& places, const google::protobuf::Descriptor& type) {
    Json out = Json::array();
    for (const Places::Written& w : places.written) {
      const google::protobuf::FieldDescriptor* const field = type.FindFieldByName(w.name);
      if (field == nullptr) continue;
      for (std::size_t k = w.first; k < w.first + w.count; ++k) {
        const Places::FieldValue& value = places.fields.find(w.name)->second[k];
        if (value.message && field->message_type() != nullptr) {
          Json children = of(*value.message, *field->message_type());
          add(out, w, value, names_of(*value.message, w.name), std::move(children));
        } else if (const TextSyntax kind = field->options().GetExtension(syntax);
                   kind == TextSyntax::REPORTS ||
                   (kind == TextSyntax::BINDINGS && (w.name == "import" || w.name == "output"))) {
          std::string names;
          for (const ir::Binding& b : parsed_bindings(value.text)) names += (names.empty() ? "" : ", ") + b.name;
          add(out, w, value, names, Json::array());
        } else if (field->options().GetExtension(syntax) == TextSyntax::EQUATION) {
          add(out, w, value, targets_of(value.text), Json::array());
        }
      }
    }
    return out;
  }

 private:
  static std::string names_of(const Places& places, const std::string& otherwise) {
    std::string names;
    const auto found = places.fields.find("name");
    for (std::size_t k = 0; found != places.fields.end() && k < found->second.size(); ++k) {
      names += (names.empty() ? "" : ", ") + found->second[k].text.text;
    }
    return names.empty() ? otherwise : names;
  }
  static std::string targets_of(const ir::SourceText& text) {
    try {
      std::string names;
      for (const ir::Equation::Target& t : ir::parse_equation(text).targets) names += (names.empty() ? "" : ", ") + t.name;
      return names;
    } catch (const UserError&) {
      return "";
    }
  }

  void add(Json& out, const Places::Written& w, const Places::FieldValue& value, const std::string& names,
           Json children) const {
    if (names.empty()) return;
    const std::string_view text = a_.readable;
    out.push_back({{"name", names},
                   {"detail", w.name},
                   {"kind", static_cast<int>(icon_of(w.name))},
                   {"range", range_json(text, w.begin, w.end, encoding_)},
                   {"selectionRange", range_json(text, value.begin, value.end, encoding_)},
                   {"children", std::move(children)}});
  }

  const Analysis& a_;
  Encoding encoding_;
};

}  // namespace

Json document_symbols(Workspace& workspace, const std::string& path) {
  const Analysis& a = workspace.analysis(path, Depth::kNames);
  return Outline(a, workspace.encoding()).of(a.places, *a.message->GetDescriptor());
}

Json formatting(Workspace& workspace, const std::string& path) {
  const std::string text = workspace.documents().text_of(path);
  std::string formatted;
  try {
    formatted = format_source(text, intern_file(path));
  } catch (const UserError& error) {
    throw ResponseError{ErrorCode::kRequestFailed,
                        fmt::format("the file cannot be parsed: {}", error.diagnostics().front().text)};
  }
  if (formatted == text) return Json::array();
  return Json::array({{{"range", range_json(text, 0, text.size(), workspace.encoding())}, {"newText", formatted}}});
}

}  // namespace graphrun::lsp
