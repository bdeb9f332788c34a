#include "compiler/frontend/text_hints.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "compiler/frontend/source.h"

namespace graphrun {

std::size_t end_of_aside(std::string_view text, std::size_t begin) {
  const char c = text[begin];
  if (c == '#') return std::min(text.find('\n', begin), text.size());
  if (c != '"' && c != '\'') return begin;
  std::size_t i = begin + 1;
  while (i < text.size() && text[i] != c && text[i] != '\n') i += text[i] == '\\' ? 2 : 1;
  return std::min(i, text.size());
}

}  // namespace graphrun

namespace graphrun::text_hints {
namespace {

namespace pb = google::protobuf;

// The end of an unquoted expression that continues at `at`: a brace, a quote, a comment, the end of the line, or the name of
// the next field.
std::size_t end_of_bare_expression(std::string_view text, std::size_t at) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const std::size_t first = at;
  int depth = 0;
  while (at < text.size() && std::string_view("#{}\"\n").find(text[at]) == std::string_view::npos) {
    if (text[at] == '[' || text[at] == '(') ++depth;
    if (text[at] == ']' || text[at] == ')') --depth;
    if (text[at] == ':' && depth <= 0) break;
    ++at;
  }
  const auto back = [&](const auto& is) {
    while (at > first && is(text[at - 1])) --at;
  };
  back(blank);
  if (at < text.size() && text.find_first_not_of(" \t\r", at) < text.size()) {
    const char stop = text[text.find_first_not_of(" \t\r", at)];
    if (stop == ':' || stop == '{') back(word), back(blank);
  }
  return at;
}

}  // namespace

std::string fields_of(const pb::Descriptor& message) {
  std::string all;
  for (int i = 0; i < message.field_count(); ++i) all += (all.empty() ? "" : ", ") + message.field(i)->name();
  return message.name() + " has the fields " + all;
}

std::vector<std::string> near_fields(const std::string& message) {
  constexpr std::string_view kType = "Message type \"", kField = "\" has no field named \"";
  const std::size_t type_at = message.find(kType), field_at = message.find(kField);
  if (type_at == std::string::npos || field_at == std::string::npos) return {};
  const std::size_t type_begin = type_at + kType.size(), field_begin = field_at + kField.size();
  const std::size_t field_end = message.find('"', field_begin);
  const pb::Descriptor* descriptor =
      pb::DescriptorPool::generated_pool()->FindMessageTypeByName(message.substr(type_begin, field_at - type_begin));
  if (!descriptor || field_end == std::string::npos) return {};
  std::vector<std::string> known;
  for (int i = 0; i < descriptor->field_count(); ++i) known.push_back(descriptor->field(i)->name());
  const std::string hint = did_you_mean(message.substr(field_begin, field_end - field_begin), known);
  return {"help: " + (hint.empty() ? "" : hint + " ") + fields_of(*descriptor)};
}

std::string between(const std::string& message, std::string_view before, std::string_view after) {
  const std::size_t begin = message.find(before);
  if (begin == std::string::npos) return "";
  const std::size_t end = message.find(after, begin + before.size());
  return end == std::string::npos ? "" : message.substr(begin + before.size(), end - begin - before.size());
}

std::vector<OpenMessage> open_messages(std::string_view text, const pb::Descriptor* root) {
  std::vector<OpenMessage> open = {{root, 0}};
  std::vector<std::string> names = {""};  // the last name read in each
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (const std::size_t end = end_of_aside(text, i); end > i) {
      i = end;
    } else if (c == '{' || c == '<') {
      const pb::Descriptor* const message = open.back().message;
      const pb::FieldDescriptor* const field = message ? message->FindFieldByName(names.back()) : nullptr;
      open.push_back({field ? field->message_type() : nullptr, i});
      names.emplace_back();
    } else if ((c == '}' || c == '>') && open.size() > 1) {
      open.pop_back();
      names.pop_back();
    } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      const std::size_t begin = i;
      while (i + 1 < text.size() && (std::isalnum(static_cast<unsigned char>(text[i + 1])) || text[i + 1] == '_')) ++i;
      names.back() = text.substr(begin, i + 1 - begin);
    }
  }
  return open;
}

const pb::Descriptor* open_message(std::string_view text, const pb::Descriptor* root) {
  return open_messages(text, root).back().message;
}

std::vector<std::string> enum_values(std::string_view text, const pb::Descriptor* root, const std::string& field) {
  const pb::Descriptor* const message = open_message(text, root);
  const pb::FieldDescriptor* const f = message ? message->FindFieldByName(field) : nullptr;
  std::vector<std::string> values;
  for (int k = 0; f && f->enum_type() && k < f->enum_type()->value_count(); ++k)
    values.push_back(f->enum_type()->value(k)->name());
  return values;
}

const pb::FieldDescriptor* field_before(std::string_view text, const pb::Descriptor* message) {
  const auto skip_blanks = [&] {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  };
  skip_blanks();
  if (text.empty() || text.back() != ':') return nullptr;
  text.remove_suffix(1);
  skip_blanks();
  std::size_t begin = text.size();
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '_')) --begin;
  return message != nullptr ? message->FindFieldByName(std::string(text.substr(begin))) : nullptr;
}

std::size_t bare_length(std::string_view text, std::size_t begin) {
  if (begin < text.size() && text[begin] == '[') {
    const std::size_t end = text.find_first_of("]\n", begin);
    return end == std::string_view::npos || text[end] == '\n' ? 0 : end + 1 - begin;
  }
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_.+-").find(c) != std::string_view::npos;
  };
  const auto end = static_cast<std::size_t>(
      std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_part) - text.begin());
  const std::size_t next = std::min(text.find_first_not_of(" \t", end), text.size());
  const bool continues = next < text.size() && std::string_view("=+-*/@([!,<>").find(text[next]) != std::string_view::npos;
  return (continues ? end_of_bare_expression(text, next) : end) - begin;
}

std::size_t open_quote(std::string_view text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t first = i;
    i = end_of_aside(text, i);
    if (i >= end && i > first) return first;
  }
  return end;
}

std::string form_of_value(const std::string& message) {
  if (message.starts_with("Expected integer") && message.find("got: \"") != std::string::npos)
    return "numbers and names of choices are written without quotes";
  if (message.starts_with("Expected double") && message.find("got: \"") != std::string::npos)
    return "numbers are written without quotes";
  if (message.starts_with("Expected identifier, got: /")) return "a comment begins with #";
  if (message.starts_with("Expected identifier, got: {"))
    return "the file is protobuf text, not JSON: fields stand without braces around them, NAME: \"…\"";
  if (message.starts_with("Expected \":\", found \"=\""))
    return "a field's name and its value are separated by a colon: NAME: \"…\"";
  if (message.starts_with("String literals cannot cross")) return "this string is not closed on its line";
  if (message.starts_with("Expected \":\", found \"{\"")) return "the field is a text: NAME: \"…\"";
  if (message.starts_with("Invalid value for boolean")) return "write true or false, without quotes";
  if (message.starts_with("Non-repeated field")) return "it may be given only once";
  return "";
}

}  // namespace graphrun::text_hints
