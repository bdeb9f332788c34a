#include "runtime/tensor/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they stand in memory");

using Json = nlohmann::json;

// The reference implementation reads headers of up to 100 MB; 32 MiB describe more than 100 000 tensors.
constexpr std::uint64_t kLargestHeader = std::uint64_t{32} << 20;
constexpr int kDeepestHeader = 3;  // {"name": {"shape": [1]}}
constexpr std::size_t kMostAxes = 64;
constexpr const char* kMetadata = "__metadata__";

const char* format_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "F32";
    case DType::kFloat64: return "F64";
    case DType::kInt32: return "I32";
    case DType::kBool: return "BOOL";
  }
  return "?";
}

[[noreturn]] void bad_file(const std::string& path, const std::string& what) {
  throw UserError(ExitCode::kBadData, "E0680 bad-safetensors", "'" + path + "' is no sound safetensors file: " + what);
}

// Untrusted text, made safe to quote in a message.
std::string quoted(const std::string& text) {
  constexpr std::size_t kMost = 80;
  return Json(text.substr(0, kMost)).dump(-1, ' ', true, Json::error_handler_t::replace) + (text.size() > kMost ? "…" : "");
}

// A tensor as described by the header.
struct Entry {
  std::string name;
  DType dtype = DType::kFloat32;
  Sizes sizes;
  std::uint64_t begin = 0, end = 0;
};

std::uint64_t unsigned_number(const Json& value, const std::string& path, const std::string& what) {
  if (!value.is_number_unsigned()) bad_file(path, what + " is no whole number from 0");
  return value.get<std::uint64_t>();
}

DType read_dtype(const Json& value, const std::string& path, const std::string& name) {
  if (!value.is_string()) bad_file(path, "tensor " + name + " has no dtype");
  const auto& text = value.get_ref<const std::string&>();
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kBool}) {
    if (text == format_name(dtype)) return dtype;
  }
  throw UserError(ExitCode::kBadData, "E0681 unsupported-dtype",
                  "'" + path + "': tensor " + name + " has dtype " + quoted(text) + "; expected F32, F64, I32 or BOOL");
}

Sizes read_shape(const Json& value, const std::string& path, const std::string& name) {
  if (!value.is_array() || value.size() > kMostAxes) bad_file(path, "tensor " + name + " has no shape of at most 64 axes");
  Sizes sizes;
  for (const Json& axis : value) {
    const std::uint64_t size = unsigned_number(axis, path, "a size of tensor " + name);
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      bad_file(path, "a size of tensor " + name + " does not fit 63 bits");
    }
    sizes.push_back(static_cast<std::int64_t>(size));
  }
  return sizes;
}

Entry read_entry(const std::string& raw_name, const Json& value, const std::string& path, std::uint64_t data_bytes) {
  const std::string name = quoted(raw_name);
  if (!value.is_object()) bad_file(path, "tensor " + name + " has no description");
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!value.contains(key)) bad_file(path, "tensor " + name + " has no " + key);
  }
  Entry entry{raw_name, read_dtype(value["dtype"], path, name), read_shape(value["shape"], path, name), 0, 0};
  const Json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) bad_file(path, "tensor " + name + " has no two data_offsets");
  entry.begin = unsigned_number(offsets[0], path, "an offset of tensor " + name);
  entry.end = unsigned_number(offsets[1], path, "an offset of tensor " + name);
  if (entry.begin > entry.end || entry.end > data_bytes) {
    bad_file(path, "tensor " + name + " lies at bytes " + std::to_string(entry.begin) + " to " + std::to_string(entry.end) +
                       " of " + std::to_string(data_bytes));
  }
  std::uint64_t bytes = size_of(entry.dtype);
  bool fits = true, none = false;
  for (std::int64_t size : entry.sizes) {
    none = none || size == 0;
    fits = fits && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1)), &bytes);
  }
  if (!fits || (none ? 0 : bytes) != entry.end - entry.begin) {
    bad_file(path,
             "tensor " + name + " of shape " + str(entry.sizes) + " has " + std::to_string(entry.end - entry.begin) + " bytes");
  }
  return entry;
}

// Parses strictly, forbidding what JSON leaves open: duplicate names, and deep nesting, which could take unbounded memory.
Json parse_header(const std::string& text, const std::string& path) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (depth >= kDeepestHeader) bad_file(path, "its header is nested too deep");
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) bad_file(path, "its header names " + quoted(key) + " twice");
    }
    return true;
  };
  try {
    Json header = Json::parse(text, check);
    if (!header.is_object()) bad_file(path, "its header is not a JSON object");
    return header;
  } catch (const Json::exception& error) {
    bad_file(path, std::string("its header is not JSON: ") + error.what());
  }
}

std::vector<Entry> read_header(InputFile& file) {
  std::array<unsigned char, 8> length_bytes{};
  if (file.size() < length_bytes.size()) bad_file(file.path(), "it has " + std::to_string(file.size()) + " bytes");
  file.read(length_bytes.data(), length_bytes.size());
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes.size(); ++i) length |= std::uint64_t{length_bytes[i]} << (8 * i);
  if (length > kLargestHeader || length > file.size() - length_bytes.size()) {
    bad_file(file.path(), "its header has " + std::to_string(length) + " bytes, the file " + std::to_string(file.size()) +
                              "; at most " + std::to_string(kLargestHeader) + " are read");
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file.read(text.data(), text.size());
  const std::uint64_t data_bytes = file.size() - length_bytes.size() - length;

  std::vector<Entry> entries;
  const Json header = parse_header(text, file.path());
  for (const auto& [name, value] : header.items()) {
    if (name != kMetadata) entries.push_back(read_entry(name, value, file.path(), data_bytes));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  // The format allows no gaps: so tensors never overlap, and every byte of the file belongs to one.
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != at) {
      bad_file(file.path(), "tensor " + quoted(entry.name) + " begins at byte " + std::to_string(entry.begin) +
                                " of the data; expected " + std::to_string(at));
    }
    at = entry.end;
  }
  if (at != data_bytes) {
    bad_file(file.path(), "its data has " + std::to_string(data_bytes) + " bytes; its tensors take " + std::to_string(at));
  }
  return entries;
}

// Largest elements first, so that every tensor is aligned in the file; then by name.
std::vector<std::pair<std::string, const TensorSource*>> in_file_order(const TensorSources& tensors) {
  std::vector<std::pair<std::string, const TensorSource*>> order;
  for (const auto& [name, tensor] : tensors) order.emplace_back(name, &tensor);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return size_of(a.second->dtype) > size_of(b.second->dtype); });
  return order;
}

}  // namespace

FileDigest write_safetensors(const std::string& path, const NamedTensors& tensors) {
  TensorSources sources;
  for (const auto& [name, tensor] : tensors) {
    GRAPHRUN_CHECK(!tensor.empty(), "write_safetensors: tensor '" + name + "' is empty");
    sources[name] = {tensor.dtype(), tensor.sizes(), [&tensor = tensor] { return tensor; }};
  }
  return write_safetensors_of(path, sources);
}

FileDigest write_safetensors_of(const std::string& path, const TensorSources& tensors) {
  const auto order = in_file_order(tensors);
  Json header = Json::object();
  std::uint64_t at = 0;
  for (const auto& [name, tensor] : order) {
    const std::uint64_t end = at + static_cast<std::uint64_t>(element_count(tensor->sizes)) * size_of(tensor->dtype);
    header[name] = {{"dtype", format_name(tensor->dtype)}, {"shape", tensor->sizes}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    throw UserError(ExitCode::kBadData, "E0682 bad-tensor-name", "cannot write '" + path + "': a tensor's name is not UTF-8");
  }
  if (tensors.count(kMetadata) != 0) {
    throw UserError(
        ExitCode::kBadData, "E0682 bad-tensor-name",
        "cannot write '" + path + "': no tensor can have the name '__metadata__', which the format keeps for itself");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>((std::uint64_t{text.size()} >> (8 * i)) & 0xFF);

  AtomicFile file(path);
  file.write(length + text);
  for (const auto& [name, source] : order) {
    const Tensor tensor = source->make();
    GRAPHRUN_CHECK(tensor.dtype() == source->dtype && tensor.sizes() == source->sizes,
                   "write_safetensors: tensor '" + name + "' is another than its source says");
    file.write(tensor.raw(), tensor.bytes());
  }
  return file.commit();
}

NamedTensors read_safetensors(const std::string& path) {
  NamedTensors tensors;
  read_safetensors(path, [&](const std::string& name, Tensor tensor) { tensors.emplace(name, std::move(tensor)); });
  return tensors;
}

void read_safetensors(const std::string& path, const std::function<void(const std::string& name, Tensor tensor)>& take) {
  InputFile file(path);
  for (const Entry& entry : read_header(file)) {
    Tensor tensor(entry.dtype, entry.sizes);
    file.read(tensor.raw(), tensor.bytes());
    if (entry.dtype == DType::kBool) {
      for (std::uint8_t& byte : tensor.span<std::uint8_t>()) byte = byte != 0;
    }
    take(entry.name, std::move(tensor));
  }
}

}  // namespace graphrun
