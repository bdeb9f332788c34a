#include "runtime/base/code_cache.h"

#include <cstdint>
#include <cstdlib>

#include "runtime/base/file.h"
#include "runtime/base/status.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::size_t kDigestDigits = 64;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string CodeCache::folder() {
  if (const std::string own = environment("GRAPHRUN_CACHE"); !own.empty()) return own;
  if (const std::string base = environment("XDG_CACHE_HOME"); !base.empty()) return base + "/graphrun";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/graphrun";
  return "";
}

CodeCache::CodeCache(const std::vector<std::string_view>& made_from) {
  const std::string in = folder();
  if (in.empty()) return;
  Sha256 hash;
  for (std::string_view part : made_from) {
    const std::uint64_t size = part.size();  // separates the parts, so that two different lists never yield the same text
    hash.update(&size, sizeof size);
    hash.update(part.data(), part.size());
  }
  path_ = in + "/" + hash.hex() + ".code";
}

// A file holds a digest of the code, then the code.
std::optional<std::string> CodeCache::find() const {
  if (path_.empty()) return std::nullopt;
  try {
    const std::string file = read_file(path_, kMostBytes);
    if (file.size() < kDigestDigits) return std::nullopt;
    std::string code = file.substr(kDigestDigits);
    if (file.compare(0, kDigestDigits, sha256(code)) != 0) return std::nullopt;
    return code;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

void CodeCache::keep(std::string_view code) const {
  if (path_.empty()) return;
  try {
    make_folders(parent_folder(path_));
    write_file(path_, sha256(code) + std::string(code));
  } catch (const UserError&) {
    // Failing to write to the folder only costs time on the next run.
  }
}

}  // namespace graphrun
