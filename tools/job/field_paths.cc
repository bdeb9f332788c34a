#include "tools/job/field_paths.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "tools/job/set.h"

namespace graphrun {
namespace {

namespace pb = google::protobuf;

class FieldWalk {
 public:
  explicit FieldWalk(std::string_view name) : end_("." + std::string(name)) {}

  void message(const pb::Message& message, const std::string& path) {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) field(message, *message.GetDescriptor()->field(i), path);
  }
  std::vector<std::string> found;

 private:
  void field(const pb::Message& in, const pb::FieldDescriptor& field, const std::string& path) {
    const pb::Reflection& reflection = *in.GetReflection();
    const std::string here = path + "." + field.name();
    const pb::OneofDescriptor* const choice = field.real_containing_oneof();
    if (choice != nullptr && reflection.HasOneof(in, choice) && !reflection.HasField(in, &field)) return;
    if (field.cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      if (here.ends_with(end_)) found.push_back(here.substr(1));
    } else if (field.is_repeated()) {
      repeated(in, field, here);
    } else {
      message(reflection.GetMessage(in, &field), here);
    }
  }

  // A single message needs no name.
  void repeated(const pb::Message& in, const pb::FieldDescriptor& field, const std::string& path) {
    const pb::Reflection& reflection = *in.GetReflection();
    const int count = reflection.FieldSize(in, &field);
    for (int i = 0; i < count; ++i) {
      const pb::Message& one = reflection.GetRepeatedMessage(in, &field, i);
      message(one, count == 1 ? path : path + "." + key_of(in, field, i));
    }
  }

  const std::string end_;
};

}  // namespace

std::vector<std::string> field_paths(const Job& job, std::string_view name) {
  FieldWalk walk(name);
  walk.message(job, "");
  return walk.found;
}

}  // namespace graphrun
