#include "tools/json/json.h"

#include <gtest/gtest.h>

namespace graphrun {
namespace {

std::string nested(std::size_t deep) { return std::string(deep, '[') + std::string(deep, ']'); }

TEST(Json, IsReadWithinADepth) {
  EXPECT_EQ(parse_json_within("1", 0), 1);
  EXPECT_EQ(parse_json_within(R"([[], {"a": [1, 2]}, "[[[["])", 3), parse_json(R"([[], {"a": [1, 2]}, "[[[["])"));
  EXPECT_THROW(parse_json_within(R"([[], {"a": [1, 2]}])", 2), JsonTooDeep);
  EXPECT_EQ(parse_json_within(nested(1000)), parse_json(nested(1000)));
  EXPECT_THROW(parse_json_within(nested(1001)), JsonTooDeep);
  EXPECT_THROW(parse_json_within(std::string(50'000'000, '[')), JsonTooDeep);
  EXPECT_THROW(parse_json_within("[1"), nlohmann::json::parse_error);
  EXPECT_THROW(parse_json_within("1e400"), nlohmann::json::out_of_range);
}

}  // namespace
}  // namespace graphrun
