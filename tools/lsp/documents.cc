#include "tools/lsp/documents.h"

#include <cctype>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "compiler/frontend/source.h"

namespace graphrun::lsp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "file://";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = std::tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::string resolved_path(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

std::string path_of_uri(const std::string& uri) {
  if (!uri.starts_with(kFile)) {
    std::string name = uri;
    for (char& c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
    }
    return resolved_path((fs::current_path() / name).string());
  }
  std::string path;
  const std::size_t begin = std::min(uri.find('/', kFile.size()), uri.size());
  for (std::size_t i = begin; i < uri.size(); ++i) {
    const int high = uri[i] == '%' && i + 2 < uri.size() ? hex_digit(uri[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(uri[i + 2]) : -1;
    if (low < 0) {
      path += uri[i];
      continue;
    }
    path += static_cast<char>(16 * high + low);
    i += 2;
  }
  return resolved_path(path.substr(0, path.find('\0')));
}

std::string uri_of_path(const std::string& path) {
  std::string uri(kFile);
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos) {
      uri += c;
    } else {
      constexpr const char* kDigits = "0123456789ABCDEF";
      uri += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return uri;
}

void Documents::open(const Json& parameters) {
  const Json& given = parameters.at("textDocument");
  Document document;
  document.uri = given.at("uri").get<std::string>();
  document.path = path_of_uri(document.uri);
  document.text = given.at("text").get<std::string>();
  if (given.contains("version")) document.version = given["version"];
  documents_[document.path] = std::move(document);
  ++revision_;
  share();
}

void Documents::change(const Json& parameters, Encoding encoding) {
  const Json& given = parameters.at("textDocument");
  Document& document = documents_.at(path_of_uri(given.at("uri").get<std::string>()));
  std::string text = document.text;
  for (const Json& change : parameters.at("contentChanges")) {
    const std::string& inserted = change.at("text").get_ref<const std::string&>();
    if (!change.contains("range")) {
      text = inserted;
      continue;
    }
    const TextPositions positions(text);
    const auto offset = [&](const char* end) {
      const Json& at = change["range"].at(end);
      return positions.offset({at.at("line").get<std::size_t>(), at.at("character").get<std::size_t>()}, encoding);
    };
    const std::size_t begin = offset("start"), end = offset("end");
    text.replace(begin, std::max(begin, end) - begin, inserted);
  }
  document.text = std::move(text);
  document.version = given.contains("version") ? given["version"] : Json();
  ++revision_;
  share();
}

void Documents::close(const Json& parameters) {
  documents_.erase(path_of_uri(parameters.at("textDocument").at("uri").get<std::string>()));
  ++revision_;
  share();
}

void Documents::set_text(const std::string& path, const std::string& text) {
  documents_[path].text = text;
  ++revision_;
  share();
}

const Document* Documents::find(const std::string& path) const {
  const auto found = documents_.find(path);
  return found == documents_.end() ? nullptr : &found->second;
}

std::string Documents::text_of(const std::string& path) const {
  if (const Document* document = find(path)) return document->text;
  try {
    return read_source(path);
  } catch (const UserError&) {
    return "";
  }
}

std::string Documents::uri_of(const std::string& path) const {
  const Document* document = find(path);
  return document != nullptr ? document->uri : uri_of_path(path);
}

void Documents::share_with(const std::string& path, const std::string& text) const {
  std::map<std::string, std::string> texts;
  for (const auto& [at, document] : documents_) texts[at] = document.text;
  texts[path] = text;
  set_unsaved_sources(std::move(texts));
}

void Documents::share() const {
  std::map<std::string, std::string> texts;
  for (const auto& [path, document] : documents_) texts[path] = document.text;
  set_unsaved_sources(std::move(texts));
}

}  // namespace graphrun::lsp
