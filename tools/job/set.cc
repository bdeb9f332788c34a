#include "tools/job/set.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "tools/job/bindings.h"

namespace graphrun {
namespace {

namespace pb = google::protobuf;
using CppType = pb::FieldDescriptor::CppType;

std::vector<std::string> field_names(const pb::Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// The field that selects one of several messages: its `name`, or the `match` pattern. Null if there is none.
const pb::FieldDescriptor* key_field(const pb::Descriptor& message) {
  for (int i = 0; i < message.field_count(); ++i) {
    const pb::FieldDescriptor* const field = message.field(i);
    if (!field->is_repeated() && (field->name() == "name" || field->name() == "match")) return field;
  }
  return nullptr;
}

// A description of values of this type.
std::string expected_of(const pb::FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case CppType::CPPTYPE_INT32: return "a whole number up to 2147483647";
    case CppType::CPPTYPE_INT64: return "a whole number";
    case CppType::CPPTYPE_UINT32:
    case CppType::CPPTYPE_UINT64: return "a whole number, not negative";
    case CppType::CPPTYPE_FLOAT:
    case CppType::CPPTYPE_DOUBLE: return "a number";
    case CppType::CPPTYPE_BOOL: return "true or false";
    case CppType::CPPTYPE_ENUM: {
      std::vector<std::string> names;
      for (int i = 0; i < field.enum_type()->value_count(); ++i) names.push_back(field.enum_type()->value(i)->name());
      return listed(names);
    }
    default: return "text";
  }
}

// Paths on the command line start in the current directory, paths in a job in the job's folder.
std::string from_here(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

// Whether values of the field are paths with an optional name: "members.0 = runs/1".
bool holds_named_path(const pb::FieldDescriptor& field) { return field.full_name() == "graphrun.Job.Infer.load"; }
std::string named_from_here(const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::size_t begin = text.find_first_not_of(' ', sign == std::string::npos ? 0 : sign + 1);
  return begin == std::string::npos ? text : text.substr(0, begin) + from_here(text.substr(begin));
}

// Applies one argument.
class Setter {
 public:
  Setter(const ir::SourceText& argument, Job& job, Places& places, std::vector<Diagnostic>& problems)
      : argument_(argument), job_(job), places_(places), problems_(problems) {}

  void apply() {
    const std::size_t sign = argument_.text.find('=');
    if (sign == std::string::npos || sign == 0) {
      return problem("E0402 wrong-value", 0, argument_.text.size(), "expected PATH=VALUE", "for instance train.epochs=3");
    }
    adds_ = sign > 1 && argument_.text[sign - 1] == '+';
    const std::size_t path_end = adds_ ? sign - 1 : sign;
    for (std::size_t begin = 0; begin <= path_end;) {
      const std::size_t end = std::min(argument_.text.find('.', begin), path_end);
      parts_.push_back({argument_.text.substr(begin, end - begin), begin});
      begin = end + 1;
    }
    value_ = argument_.part(sign + 1, argument_.text.size());
    if (job_.GetDescriptor()->FindFieldByName(parts_[0].name)) return set_field();
    // Whether this is an arg of an imported graph (decoder.readout), and not a misspelled train.epochs.
    const bool misspelled = !did_you_mean(parts_[0].name, field_names(*job_.GetDescriptor())).empty();
    if (parts_.size() > 1 && misspelled) return unknown_field(*job_.GetDescriptor(), parts_[0]);
    adds_ ? only_lists_grow(parts_.back()) : set_argument();
  }

 private:
  struct Part {
    std::string name;
    std::size_t offset;
  };

  // A mistake leaves the job unchanged, so that half of a setting causes no further errors.
  void set_field() {
    Job trial = job_;
    Places unseen;
    const std::size_t before = problems_.size();
    walk(trial, unseen, 0);
    if (problems_.size() == before) walk(job_, places_, 0);
  }

  // `hidden=128` replaces the graph's argument of that name, or adds it.
  void set_argument() {
    const std::string name = argument_.text.substr(0, argument_.text.find('='));
    const std::string text = name + " = " + value_.text;
    Places::FieldValue value{value_.at(0, value_.text.size()), argument_, nullptr};
    auto& all = places_.fields["arg"];
    for (int i = 0; i < job_.arg_size(); ++i) {
      const auto bindings = split_bindings(all[static_cast<std::size_t>(i)].text);
      if (bindings.empty() || bindings[0].name != name) continue;
      job_.set_arg(i, text);
      all[static_cast<std::size_t>(i)] = std::move(value);
      return;
    }
    job_.add_arg(text);
    all.push_back(std::move(value));
  }

  void walk(pb::Message& message, Places& places, std::size_t at) {
    const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(parts_[at].name);
    if (!field) return unknown_field(*message.GetDescriptor(), parts_[at]);
    const bool last = at + 1 == parts_.size();
    if (field->cpp_type() != CppType::CPPTYPE_MESSAGE) {
      if (!last) {
        return problem("E0404 unknown-field", parts_[at + 1],
                       fmt::format("'{}' is a value of its own: it has no field '{}'", field->name(), parts_[at + 1].name));
      }
      if (field->is_repeated()) return set_list(message, places, *field);
      return adds_ ? only_lists_grow(parts_[at]) : set_scalar(message, places, *field);
    }
    if (field->is_repeated()) return walk_repeated(message, places, *field, at);
    if (last) {
      return problem("E0402 wrong-value", parts_[at], fmt::format("'{}' is a message", field->name()),
                     fmt::format("set one of its fields: {}", listed(field_names(*field->message_type()))));
    }
    forget_others(message, places, *field);
    pb::Message* inner = message.GetReflection()->MutableMessage(&message, field);
    walk(*inner, place_of(places, field->name()), at + 1);
  }

  // Selects one of several messages by its key or number; if there is only one, the path may continue with its fields.
  void walk_repeated(pb::Message& message, Places& places, const pb::FieldDescriptor& field, std::size_t at) {
    const pb::Reflection& reflection = *message.GetReflection();
    const int count = reflection.FieldSize(message, &field);
    if (count == 0) {
      return problem("E0404 unknown-field", parts_[at], fmt::format("the job has no '{}'", field.name()),
                     fmt::format("--set can change one but not add one; {} {{ … }} in the job does", field.name()));
    }
    std::vector<std::string> known;
    for (int i = 0; i < count; ++i) known.push_back(key_of(message, field, i));
    join_key(at + 1, known);
    const auto walk_into = [&](int index, std::size_t next) {
      walk(*reflection.MutableRepeatedMessage(&message, &field, index),
           place_of(places, field.name(), static_cast<std::size_t>(index)), next);
    };
    if (count == 1 && at + 1 < parts_.size() && parts_[at + 1].name != known[0]) {
      const bool is_field = field.message_type()->FindFieldByName(parts_[at + 1].name) != nullptr;
      if (is_field || at + 2 >= parts_.size()) return walk_into(0, at + 1);
    }
    if (at + 2 >= parts_.size()) {
      return problem("E0402 wrong-value", parts_[at],
                     fmt::format("there {} {} '{}'", count == 1 ? "is" : "are", count, field.name()),
                     fmt::format("name one and its field: {}.{}.FIELD=VALUE; there are: {}", field.name(), known[0],
                                 entries(message, field)));
    }
    const Part& part = parts_[at + 1];
    int index = -1, number = -1;
    if (parse_number(part.name, number) && number >= 0 && number < count) index = number;
    for (int i = 0; i < count; ++i) {
      if (known[static_cast<std::size_t>(i)] == part.name) index = i;
    }
    if (index < 0) {
      const std::string near = did_you_mean(part.name, known);
      return problem("E0404 unknown-field", part, fmt::format("no {} '{}'", field.name(), part.name),
                     near.empty() ? fmt::format("there are: {}", entries(message, field)) : near);
    }
    walk_into(index, at + 2);
  }

  // A pattern may contain dots: joins the parts that spell a key into one part, choosing the longest matching key.
  void join_key(std::size_t from, const std::vector<std::string>& keys) {
    std::size_t parts = 1;
    std::string joined, longest;
    for (std::size_t i = from; i < parts_.size(); ++i) {
      joined += (i == from ? "" : ".") + parts_[i].name;
      if (std::find(keys.begin(), keys.end(), joined) != keys.end()) parts = i + 1 - from, longest = joined;
    }
    if (parts == 1) return;
    parts_[from].name = longest;
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                 parts_.begin() + static_cast<std::ptrdiff_t>(from + parts));
  }

  // "words, tags" or, if they have no names, "0 (match: \"*\"), 1 (match: \"E\")".
  static std::string entries(const pb::Message& in, const pb::FieldDescriptor& field) {
    const pb::FieldDescriptor* const key = key_field(*field.message_type());
    std::vector<std::string> all;
    for (int i = 0; i < in.GetReflection()->FieldSize(in, &field); ++i) {
      const pb::Message& one = in.GetReflection()->GetRepeatedMessage(in, &field, i);
      if (key != nullptr && key->name() == "name") {
        all.push_back(key_of(in, field, i));
      } else if (key != nullptr) {
        all.push_back(fmt::format("{} ({}: \"{}\")", i, key->name(), one.GetReflection()->GetString(one, key)));
      } else {
        all.push_back(std::to_string(i));
      }
    }
    return listed(all);
  }

  void set_scalar(pb::Message& message, Places& places, const pb::FieldDescriptor& field) {
    if (!store(message, field, value_, false)) return;
    forget_others(message, places, field);
    auto& values = places.fields[field.name()];
    values.clear();
    values.push_back(place_of_value(value_));
  }

  void set_list(pb::Message& message, Places& places, const pb::FieldDescriptor& field) {
    auto& values = places.fields[field.name()];
    if (!adds_) {
      message.GetReflection()->ClearField(&message, &field);
      values.clear();
    }
    ir::SourceText list = value_;
    // "[a, b]", as in a file, means "a, b".
    if (list.text.size() >= 2 && list.text.front() == '[' && list.text.back() == ']') list = list.part(1, list.text.size() - 1);
    for (const ir::SourceText& part : split_list(list)) {
      if (store(message, field, part, true)) values.push_back(place_of_value(part));
    }
  }

  void only_lists_grow(const Part& part) {
    problem("E0402 wrong-value", part, fmt::format("'{}' is not a list: += adds to a list", part.name),
            fmt::format("--set {}=VALUE sets it", argument_.text.substr(0, argument_.text.find('+'))));
  }

  Places::FieldValue place_of_value(const ir::SourceText& text) const {
    return {text.at(0, std::max<std::size_t>(text.text.size(), 1)), text, nullptr};
  }

  // Removes the locations of the other choices of a oneof.
  static void forget_others(const pb::Message&, Places& places, const pb::FieldDescriptor& field) {
    const pb::OneofDescriptor* choice = field.real_containing_oneof();
    for (int i = 0; choice && i < choice->field_count(); ++i) {
      if (choice->field(i) != &field) places.fields.erase(choice->field(i)->name());
    }
  }

  Places& place_of(Places& places, const std::string& field, std::size_t index = 0) const {
    auto& values = places.fields[field];
    if (values.size() <= index) values.resize(index + 1);
    Places::FieldValue& value = values[index];
    if (!value.message) {
      value.message = std::make_unique<Places>();
      value.message->at = value.at = argument_.at(0, argument_.text.size());
    }
    return *value.message;
  }

  bool store(pb::Message& message, const pb::FieldDescriptor& field, const ir::SourceText& source, bool add) {
    const pb::Reflection& r = *message.GetReflection();
    const std::string& text = source.text;
    const auto wrong = [&] {
      problem("E0402 wrong-value", source, fmt::format("{} is '{}'; expected {}", field.name(), text, expected_of(field)));
      return false;
    };
    switch (field.cpp_type()) {
      case CppType::CPPTYPE_INT32: {
        std::int32_t number = 0;
        if (!parse_number(text, number)) return wrong();
        add ? r.AddInt32(&message, &field, number) : r.SetInt32(&message, &field, number);
        return true;
      }
      case CppType::CPPTYPE_UINT64: {
        std::uint64_t number = 0;
        if (!parse_number(text, number)) return wrong();
        add ? r.AddUInt64(&message, &field, number) : r.SetUInt64(&message, &field, number);
        return true;
      }
      case CppType::CPPTYPE_DOUBLE: {
        double number = 0;
        if (!parse_number(text, number) || !std::isfinite(number)) return wrong();
        add ? r.AddDouble(&message, &field, number) : r.SetDouble(&message, &field, number);
        return true;
      }
      case CppType::CPPTYPE_BOOL: {
        if (text != "true" && text != "false") return wrong();
        add ? r.AddBool(&message, &field, text == "true") : r.SetBool(&message, &field, text == "true");
        return true;
      }
      case CppType::CPPTYPE_ENUM: {
        const pb::EnumValueDescriptor* value = field.enum_type()->FindValueByName(text);
        if (!value) return wrong();
        add ? r.AddEnum(&message, &field, value) : r.SetEnum(&message, &field, value);
        return true;
      }
      case CppType::CPPTYPE_STRING: {
        const std::string kept = holds_path(field) ? from_here(text) : holds_named_path(field) ? named_from_here(text) : text;
        add ? r.AddString(&message, &field, kept) : r.SetString(&message, &field, kept);
        return true;
      }
      default: throw InternalError("--set: no way to set a field of type " + std::string(field.cpp_type_name()));
    }
  }

  void unknown_field(const pb::Descriptor& message, const Part& part) {
    const auto names = field_names(message);
    const std::string near = did_you_mean(part.name, names);
    problem("E0404 unknown-field", part, fmt::format("{} has no field '{}'", message.name(), part.name),
            fmt::format("{}{}its fields are {}", near, near.empty() ? "" : " ", listed(names)));
  }

  void problem(std::string code, const Part& part, std::string text, const std::string& help = "") {
    problem(std::move(code), part.offset, part.name.size(), std::move(text), help);
  }
  void problem(std::string code, std::size_t offset, std::size_t length, std::string text, const std::string& help = "") {
    report(std::move(code), argument_.at(offset, std::max<std::size_t>(length, 1)), std::move(text), help);
  }
  void problem(std::string code, const ir::SourceText& source, std::string text) {
    report(std::move(code), source.at(0, std::max<std::size_t>(source.text.size(), 1)), std::move(text), "");
  }
  void report(std::string code, const Location& at, std::string text, const std::string& help) {
    Diagnostic d{Severity::kError, std::move(code), at, std::move(text), {}};
    if (!help.empty()) d.notes.push_back("help: " + help);
    problems_.push_back(std::move(d));
  }

  const ir::SourceText& argument_;
  Job& job_;
  Places& places_;
  std::vector<Diagnostic>& problems_;
  std::vector<Part> parts_;
  bool adds_ = false;  // with +=
  ir::SourceText value_;
};

}  // namespace

std::string key_of(const pb::Message& in, const pb::FieldDescriptor& field, int index) {
  const pb::FieldDescriptor* const key = key_field(*field.message_type());
  const std::string number = std::to_string(index);
  if (key == nullptr) return number;
  const auto text_of = [&](int i) {
    const pb::Message& one = in.GetReflection()->GetRepeatedMessage(in, &field, i);
    return one.GetReflection()->GetString(one, key);
  };
  const std::string text = text_of(index);
  for (int i = 0; i < in.GetReflection()->FieldSize(in, &field); ++i) {
    if (i != index && text_of(i) == text) return number;
  }
  return text.empty() ? number : text;
}

bool holds_path(const pb::FieldDescriptor& field) {
  static const char* const kPaths[] = {"graphrun.Job.Data.train",       "graphrun.Job.Data.valid",
                                       "graphrun.Job.Data.test",        "graphrun.Job.Vocabulary.file",
                                       "graphrun.Job.Vocabulary.model", "graphrun.Job.Initialize.vectors",
                                       "graphrun.Job.Start.model",      "graphrun.Job.Shortlist.table"};
  for (const char* path : kPaths) {
    if (field.full_name() == path) return true;
  }
  return false;
}

std::vector<ir::SourceText> set_sources(const std::vector<std::string>& arguments) {
  std::string all;
  for (const std::string& argument : arguments) {
    std::string line = argument;
    for (char& c : line) c = c == '\n' ? ' ' : c;
    all += line + "\n";
  }
  const std::string* file = intern_text("--set", std::move(all));
  std::vector<ir::SourceText> sources;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    ir::SourceText source(arguments[i]);
    source.file = file;
    source.pieces.push_back({0, static_cast<int>(i) + 1, 1});
    sources.push_back(std::move(source));
  }
  return sources;
}

void apply_sets(const std::vector<std::string>& arguments, Job& job, Places& places, std::vector<Diagnostic>& problems) {
  for (const ir::SourceText& source : set_sources(arguments)) Setter(source, job, places, problems).apply();
}

void split_arguments(Job& job, Places& places) {
  std::vector<Places::FieldValue> values;
  Job single;
  for (int i = 0; i < job.arg_size(); ++i) {
    for (BindingText& binding : split_bindings(places.text("arg", static_cast<std::size_t>(i)))) {
      single.add_arg(binding.whole.text);
      values.push_back({binding.whole.at(0, binding.whole.text.size()), std::move(binding.whole), nullptr});
    }
  }
  *job.mutable_arg() = single.arg();
  if (!values.empty()) places.fields["arg"] = std::move(values);
}

}  // namespace graphrun
