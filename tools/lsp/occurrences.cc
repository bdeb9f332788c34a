#include "tools/lsp/occurrences.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/ir/op.h"
#include "graphs/text.pb.h"
#include "tools/lsp/string_fields.h"

namespace graphrun::lsp {
namespace {

using frontend::Definition;
using frontend::InstanceDef;
using frontend::Member;
using ir::Expression;

std::string resolved_file(const Location& at) {
  if (at.file == nullptr) return "";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(*at.file, error);
  return error ? *at.file : path.string();
}

std::string key_of(const Definition& d) { return d.outer == nullptr ? resolved_file(d.at) : key_of(*d.outer) + "#" + d.name; }

Location part(Location at, std::size_t offset, std::size_t length) {
  at.column += static_cast<int>(offset);
  at.length = static_cast<int>(length);
  return at;
}

class OccurrenceFinder {
 public:
  explicit OccurrenceFinder(const Analysis& a) : a_(a) {}

  std::vector<Occurrence> find() {
    if (a_.job) {
      job();
    } else if (a_.definition != nullptr) {
      graph(*a_.definition);
      texts(*a_.definition, a_.places);
    }
    std::stable_sort(out_.begin(), out_.end(), [](const Occurrence& x, const Occurrence& y) {
      return std::pair(x.at.line, x.at.column) < std::pair(y.at.line, y.at.column);
    });
    return std::move(out_);
  }

 private:
  void add(const Location& at, SymbolKey symbol, bool declares = false, Occurrence::Short shortened = Occurrence::Short::kNo,
           std::size_t before = 0) {
    if (!at.known() || at.file != a_.file()) return;
    Location place = at;
    place.length = std::max(place.length, 1);
    // A name in a string of its own is located by its quote.
    const TextPositions& positions = text_positions();
    const std::size_t offset = positions.offset_of_byte(at.line, at.column);
    if (offset < a_.readable.size() && (a_.readable[offset] == '"' || a_.readable[offset] == '\'')) {
      place = part(at, 1, symbol.name.size());
    }
    out_.push_back({place, std::move(symbol), declares, shortened, before});
  }
  const TextPositions& text_positions() {
    if (!positions_) positions_.emplace(a_.readable);
    return *positions_;
  }

  static SymbolKey key(const Definition& d, std::string name, SymbolKey::Kind kind = SymbolKey::Kind::kName) {
    return {kind, key_of(d), std::move(name)};
  }

  // What a name means where it is read.
  static std::optional<SymbolKey> meaning(const Definition& d, const std::string& name) {
    if (d.member(name) != nullptr) return key(d, name);
    if (d.symbols.count(name) != 0) return key(d, name, SymbolKey::Kind::kSize);
    for (const Definition* at = &d; at != nullptr; at = at->outer) {
      if (at->static_member(name) != nullptr) return key(*at, name);
      if (const Definition* local = at->local_graph(name)) return key(*local, "", SymbolKey::Kind::kGraph);
    }
    return std::nullopt;
  }

  void name(const Definition& d, const Expression& e, Occurrence::Short shortened = Occurrence::Short::kNo) {
    const std::size_t parts = e.path.size();
    if (parts == 0) return;
    const std::optional<SymbolKey> first = meaning(d, e.path[0]);
    // A dotted name stands without spaces; otherwise only its beginning is located.
    const bool whole = static_cast<std::size_t>(e.at.length) == e.dotted().size();
    if (first) {
      add(part(e.at, 0, e.path[0].size()), *first, false, parts == 1 ? shortened : Occurrence::Short::kNo);
    }
    const Member* const m = d.member(e.path[0]);
    if (!whole || parts < 2 || m == nullptr) return;
    const std::string* instance = nullptr;
    if (m->kind == Member::Kind::kInstance) instance = &d.instances[m->index].name;
    if (m->kind == Member::Kind::kState && !d.states[m->index].of.empty()) instance = &d.states[m->index].of;
    if (instance == nullptr) return;
    const Definition* callee = called(d, *instance);
    if (callee == nullptr) return;
    const std::size_t second = e.path[0].size() + 1;
    if (m->kind == Member::Kind::kState) return state(*callee, e.path[1], part(e.at, second, e.path[1].size()));
    if (e.path[1] == "end") {
      if (parts > 2) state(*callee, e.path[2], part(e.at, second + 4, e.path[2].size()));
    } else if (callee->output(e.path[1]) != nullptr) {
      add(part(e.at, second, e.path[1].size()), key(*callee, e.path[1], SymbolKey::Kind::kOutput), false,
          parts == 2 ? shortened : Occurrence::Short::kNo, second);
    }
  }
  void state(const Definition& d, const std::string& name, const Location& at) {
    if (d.member(name) != nullptr) add(at, key(d, name));
  }

  const Definition* called(const Definition& d, const std::string& instance) const {
    for (const InstanceDef& i : d.instances) {
      if (i.name == instance) return graph_named(a_, d, i.graph);
    }
    return nullptr;
  }

  void expression(const Definition& d, const Expression& e) {
    switch (e.kind) {
      case Expression::Kind::kName: name(d, e); return;
      case Expression::Kind::kGraph:
      case Expression::Kind::kCall:
        if (const Definition* named = graph_named(a_, d, e)) return graph_expression(d, e, *named);
        break;
      default: break;
    }
    for (const Expression& o : e.operands) expression(d, o);
    for (const ir::Keyword& k : e.keywords) expression(d, k.value);
    for (const ir::Subscript& s : e.subscripts) {
      if (s.begin) expression(d, *s.begin);
      if (s.end) expression(d, *s.end);
    }
  }

  // A graph, with values for its args.
  void graph_expression(const Definition& d, const Expression& e, const Definition& named) {
    if (e.kind == Expression::Kind::kGraph) {
      add(part(e.at, 0, e.text.size()), key(named, "", SymbolKey::Kind::kGraph));
    } else if (e.kind == Expression::Kind::kName) {
      name(d, e);
    } else if (const auto symbol = meaning(d, e.text)) {
      add(part(e.at, 0, e.text.size()), *symbol);
    }
    for (const ir::Keyword& k : e.keywords) {
      if (named.has_arg(k.name)) add(k.at, key(named, k.name));
      expression(d, k.value);
    }
  }

  void shape(const Definition& d, const std::vector<Expression>& sizes) {
    for (const Expression& s : sizes) expression(d, s);
  }

  // Bindings of a call: names of the callee on the left, of the caller on the right.
  void bindings(const Definition& d, const Definition* callee, const std::vector<ir::Binding>& all) {
    for (const ir::Binding& b : all) {
      const bool is_short = !b.named && b.value.kind == Expression::Kind::kName;
      const std::string bound = b.name.substr(0, b.name.find('.'));
      if (callee != nullptr && !bound.empty() && callee->member(bound) != nullptr) {
        Location at = part(b.at, 0, bound.size());
        if (is_short) at = part(b.value.at, static_cast<std::size_t>(b.value.at.length) - b.name.size(), b.name.size());
        add(at, key(*callee, bound), false, is_short ? Occurrence::Short::kBound : Occurrence::Short::kNo,
            is_short ? static_cast<std::size_t>(at.column - b.value.at.column) : 0);
      }
      if (is_short) {
        name(d, b.value, Occurrence::Short::kRead);
      } else {
        expression(d, b.value);
      }
    }
  }

  void graph(const Definition& d) {
    add(d.at, key(d, "", SymbolKey::Kind::kGraph), true);
    if (!out_.empty() && out_.back().symbol.name.empty())
      out_.back().at.length = std::max<int>(1, static_cast<int>(d.name.size()));
    for (const frontend::ImportDef& i : d.imports) {
      add(part(i.at, 0, i.name.size()), key(d, i.name), true);
      expression(d, i.value);
    }
    for (const frontend::ArgDef& a : d.args) {
      add(a.at, key(d, a.name), true);
      if (a.default_value) expression(d, *a.default_value);
    }
    for (const frontend::InputDef& i : d.inputs) {
      add(i.at, key(d, i.name), true);
      shape(d, i.shape);
      if (i.below) expression(d, *i.below);
    }
    for (const frontend::ParameterDef& p : d.parameters) {
      add(p.at, key(d, p.name), true);
      shape(d, p.shape);
    }
    for (const ir::Equation& e : d.equations) {
      for (const ir::Equation::Target& t : e.targets) {
        add(part(t.at, 0, t.name.size()), key(d, t.name), true);
        shape(d, t.sizes);
      }
      expression(d, e.value);
    }
    for (const frontend::StateDef& s : d.states) {
      add(s.at, key(d, s.name), true);
      shape(d, s.shape);
      if (s.begin) expression(d, *s.begin);
      if (s.next) expression(d, *s.next);
    }
    for (const frontend::OutputDef& o : d.outputs) output(d, o);
    for (const InstanceDef& i : d.instances) instance(d, i);
    for (const auto& local : d.graphs) graph(*local);
  }

  void output(const Definition& d, const frontend::OutputDef& o) {
    // Without "name =", the output is located where its expression is.
    const bool is_short =
        o.value.kind == Expression::Kind::kName && o.at.line == o.value.at.line && o.at.column == o.value.at.column;
    Location at = part(o.at, 0, o.name.size());
    if (is_short) at = part(o.value.at, static_cast<std::size_t>(o.value.at.length) - o.name.size(), o.name.size());
    add(at, key(d, o.name, SymbolKey::Kind::kOutput), true, is_short ? Occurrence::Short::kBound : Occurrence::Short::kNo,
        is_short ? static_cast<std::size_t>(at.column - o.value.at.column) : 0);
    if (is_short) {
      name(d, o.value, Occurrence::Short::kRead);
    } else {
      expression(d, o.value);
    }
  }

  void instance(const Definition& d, const InstanceDef& i) {
    add(i.at, key(d, i.name), true);
    const Definition* callee = graph_named(a_, d, i.graph);
    if (callee != nullptr) graph_expression(d, i.graph, *callee);
    for (const auto* list : {&i.args, &i.inputs, &i.begins, &i.each, &i.carry}) bindings(d, callee, *list);
    for (const ir::Binding& b : i.next) {
      if (callee == nullptr) continue;
      if (callee->member(b.name) != nullptr) add(part(b.at, 0, b.name.size()), key(*callee, b.name));
      if (b.value.kind == Expression::Kind::kName) add(b.value.at, key(*callee, b.value.path[0], SymbolKey::Kind::kOutput));
    }
    if (i.lengths) expression(d, *i.lengths);
    if (i.times) expression(d, *i.times);
  }

  // The texts of a graph's message that its definition has without places: the names of sizes and of calls.
  void texts(const Definition& d, const Places& places) {
    for_each_string(places, *a_.message->GetDescriptor(), [&](const StringField& field) {
      if (field.depth_of_graphs != 0) return;
      const std::string& text = field.value->text.text;
      if (field.syntax == TextSyntax::CALL) {
        ir::Expression e;
        e.kind = Expression::Kind::kName;
        for (std::size_t begin = 0; begin <= text.size();) {
          const std::size_t end = std::min(text.find('.', begin), text.size());
          e.path.push_back(text.substr(begin, end - begin));
          begin = end + 1;
        }
        e.at = field.value->text.at(0, std::max<std::size_t>(text.size(), 1));
        name(d, e);
      } else if (field.syntax == TextSyntax::SIZE && d.symbols.count(text) != 0) {
        add(field.value->text.at(0, text.size()), key(d, text, SymbolKey::Kind::kSize));
      }
    });
    const auto graphs = places.fields.find("graph");
    if (graphs == places.fields.end()) return;
    for (std::size_t k = 0; k < graphs->second.size() && k < d.graphs.size(); ++k) {
      if (graphs->second[k].message) texts(*d.graphs[k], *graphs->second[k].message);
    }
  }

  // ---- Jobs.

  SymbolKey job_key(SymbolKey::Kind kind, std::string name) const { return {kind, a_.path, std::move(name)}; }

  void job() {
    std::set<std::string> fields, reports;
    const auto each = [&](const auto& visit) { for_each_string(a_.places, *a_.message->GetDescriptor(), visit); };
    each([&](const StringField& field) {
      const std::string& text = field.value->text.text;
      if (field.syntax == TextSyntax::DECLARED && field.message == "Field") fields.insert(text);
      if (field.name == "report") {
        for (const ir::Binding& b : parsed_bindings(field.value->text)) reports.insert(b.name);
      }
    });
    each([&](const StringField& field) {
      const ir::SourceText& source = field.value->text;
      const std::string& text = source.text;
      const Location at = source.at(0, std::max<std::size_t>(text.size(), 1));
      switch (field.syntax) {
        case TextSyntax::DECLARED:
          add(at, job_key(field.message == "Field" ? SymbolKey::Kind::kField : SymbolKey::Kind::kMode, text), true);
          break;
        case TextSyntax::FIELD:
          if (fields.count(text) != 0) add(at, job_key(SymbolKey::Kind::kField, text));
          break;
        case TextSyntax::REPORT:
          if (reports.count(text) != 0) add(at, job_key(SymbolKey::Kind::kReport, text));
          break;
        case TextSyntax::GRAPH:
          if (a_.definition != nullptr) add(at, key(*a_.definition, "", SymbolKey::Kind::kGraph));
          break;
        case TextSyntax::OUTPUT: value_of_graph(text, at, Occurrence::Short::kNo); break;
        case TextSyntax::EXPRESSION:
          for (const Expression& e : parsed_expression(source)) values(e, fields);
          break;
        case TextSyntax::BINDINGS:
        case TextSyntax::REPORTS:
          for (const ir::Binding& b : parsed_bindings(source)) {
            job_binding(field, b, fields);
            if (b.by) values(*b.by, fields);
          }
          break;
        default: break;
      }
    });
  }

  void value_of_graph(const std::string& name, const Location& at, Occurrence::Short shortened) {
    if (a_.definition == nullptr) return;
    if (a_.definition->output(name) != nullptr) {
      add(part(at, 0, name.size()), key(*a_.definition, name, SymbolKey::Kind::kOutput), false, shortened);
    } else if (a_.definition->has_input(name)) {
      add(part(at, 0, name.size()), key(*a_.definition, name), false, shortened);
    }
  }

  // The names in an expression over outputs, inputs and fields.
  void values(const Expression& e, const std::set<std::string>& fields, bool of_data = false,
              Occurrence::Short shortened = Occurrence::Short::kNo) {
    ir::for_each_name(e, [&](const Expression& n) {
      const std::string& name = n.path[0];
      const bool is_value =
          a_.definition != nullptr && (a_.definition->output(name) != nullptr || a_.definition->has_input(name));
      if (fields.count(name) != 0 && (of_data || !is_value)) {
        add(part(n.at, 0, name.size()), job_key(SymbolKey::Kind::kField, name), false, shortened);
      } else if (!of_data) {
        value_of_graph(name, n.at, shortened);
      }
    });
  }

  void job_binding(const StringField& field, const ir::Binding& b, const std::set<std::string>& fields) {
    const bool is_short = !b.named && b.value.kind == Expression::Kind::kName;
    const auto bound = is_short ? Occurrence::Short::kBound : Occurrence::Short::kNo;
    const auto read = is_short ? Occurrence::Short::kRead : Occurrence::Short::kNo;
    if (field.name == "arg") {
      argument(b);
      ir::for_each_name(b.value, [&](const Expression& n) {
        if (fields.count(n.path[0]) != 0) add(part(n.at, 0, n.path[0].size()), job_key(SymbolKey::Kind::kField, n.path[0]));
      });
      if (a_.definition != nullptr) graphs_in(b.value);
    } else if (field.name == "feed") {
      if (a_.definition != nullptr && a_.definition->has_input(b.name)) {
        add(part(b.at, 0, b.name.size()), key(*a_.definition, b.name), false, bound);
      }
      values(b.value, fields, true, read);
    } else if (field.name == "report") {
      if (!b.name.empty()) add(part(b.at, 0, b.name.size()), job_key(SymbolKey::Kind::kReport, b.name), true, bound);
      values(b.value, fields, false, read);
    }
  }

  // The name of an arg of the graph, or by path of a graph that it imports.
  void argument(const ir::Binding& b) {
    const Definition* d = a_.definition;
    for (std::size_t begin = 0; d != nullptr && begin < b.name.size();) {
      const std::size_t end = std::min(b.name.find('.', begin), b.name.size());
      const std::string name = b.name.substr(begin, end - begin);
      const Member* const m = d->static_member(name);
      if (m == nullptr) return;
      add(part(b.at, begin, name.size()), key(*d, name));
      d = m->kind == Member::Kind::kImport ? graph_named(a_, *d, d->imports[m->index].value) : nullptr;
      begin = end + 1;
    }
  }

  void graphs_in(const Expression& e) {
    if (e.kind == Expression::Kind::kGraph) {
      if (const Definition* named = graph_named(a_, *a_.definition, e)) {
        add(part(e.at, 0, e.text.size()), key(*named, "", SymbolKey::Kind::kGraph));
        for (const ir::Keyword& k : e.keywords) {
          if (named->has_arg(k.name)) add(k.at, key(*named, k.name));
        }
      }
    }
    for (const Expression& o : e.operands) graphs_in(o);
    for (const ir::Keyword& k : e.keywords) graphs_in(k.value);
  }

  const Analysis& a_;
  std::optional<TextPositions> positions_;
  std::vector<Occurrence> out_;
};

}  // namespace

std::string file_of(const SymbolKey& symbol) { return symbol.graph.substr(0, symbol.graph.find('#')); }

const Definition* graph_named(const Analysis& a, const Definition& in, const Expression& e) {
  if (e.kind == Expression::Kind::kGraph) return a.library->load(e.text, e.at);
  const bool call = e.kind == Expression::Kind::kCall && !e.infix && e.operands.empty();
  if (!call && !(e.kind == Expression::Kind::kName && e.path.size() == 1)) return nullptr;
  const std::string& name = call ? e.text : e.path[0];
  for (const Definition* at = &in; at != nullptr; at = at->outer) {
    if (const Member* m = at->static_member(name)) {
      return m->kind == Member::Kind::kImport ? graph_named(a, *at, at->imports[m->index].value) : nullptr;
    }
    if (const Definition* local = at->local_graph(name)) return local;
  }
  return nullptr;
}

const Definition* definition_at(const Analysis& a, std::size_t offset) {
  if (a.job || a.definition == nullptr) return nullptr;
  const Definition* d = a.definition;
  const Places* places = &a.places;
  for (bool deeper = true; deeper;) {
    deeper = false;
    const auto graphs = places->fields.find("graph");
    if (graphs == places->fields.end()) break;
    for (std::size_t k = 0; k < graphs->second.size() && k < d->graphs.size(); ++k) {
      const Places::FieldValue& value = graphs->second[k];
      if (!value.message || offset < value.begin || offset > value.end) continue;
      d = d->graphs[k].get();
      places = value.message.get();
      deeper = true;
      break;
    }
  }
  return d;
}

std::vector<Occurrence> occurrences_of(const Analysis& analysis) { return OccurrenceFinder(analysis).find(); }

}  // namespace graphrun::lsp
