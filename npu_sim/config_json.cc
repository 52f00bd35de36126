// Parsing and printing of NpuConfig, as visitors of config_fields.h.
#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_join.h"
#include "base/status.h"
#include "npu_sim/config.h"
#include "npu_sim/config_fields.h"
#include "npu_sim/parse_json.h"
#include "npu_sim/presets.h"

namespace berth {
namespace {

using Json = nlohmann::ordered_json;
using config_internal::EnumNames;

constexpr char kExtends[] = "extends";

Json::json_pointer Pointer(std::string_view path) {
  std::string text = "/";
  text += path;  // not "/" + std::string(path): gcc 12 sees an overflow in it (PR 105329)
  std::replace(text.begin(), text.end(), '.', '/');
  return Json::json_pointer(text);
}

// Reads each field from `root`. A missing key is an error unless the config extends another.
class Reader {
 public:
  Reader(const Json& root, bool may_omit) : root_(root), may_omit_(may_omit) {}

  void operator()(std::string_view path, std::string& field) {
    const Json* value = Find(path, "a string");
    if (value == nullptr) return;
    if (!value->is_string()) return Fail(path, *value, "a string");
    field = value->get<std::string>();
  }

  void operator()(std::string_view path, bool& field) {
    const Json* value = Find(path, "true or false");
    if (value == nullptr) return;
    if (!value->is_boolean()) return Fail(path, *value, "true or false");
    field = value->get<bool>();
  }

  template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
  void operator()(std::string_view path, Enum& field) {
    const auto names = EnumNames(Enum{});
    const std::string allowed =
        absl::StrJoin(names, ", ", [](std::string* out, auto name) { out->append(name); });
    const Json* value = Find(path, allowed);
    if (value == nullptr) return;
    const auto found = value->is_string()
                           ? std::find(names.begin(), names.end(), value->get<std::string>())
                           : names.end();
    if (found == names.end()) return Fail(path, *value, allowed);
    field = static_cast<Enum>(found - names.begin());
  }

  void operator()(std::string_view path, int64_t& field, int64_t min, int64_t max) {
    const std::string allowed = fmt::format("an integer in {}..{}", min, max);
    const Json* value = Find(path, allowed);
    if (value == nullptr) return;
    const bool representable =
        value->is_number_integer() &&
        (!value->is_number_unsigned() ||
         value->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    if (!representable) return Fail(path, *value, allowed);
    field = value->get<int64_t>();
  }

  void operator()(std::string_view path, double& field, double min, double max) {
    const std::string allowed = fmt::format("a number in {}..{}", min, max);
    const Json* value = Find(path, allowed);
    if (value == nullptr) return;
    if (!value->is_number()) return Fail(path, *value, allowed);
    field = value->get<double>();
  }

  // Names of all fields that were visited.
  const std::set<std::string, std::less<>>& known() const { return known_; }
  const absl::Status& status() const { return status_; }

 private:
  const Json* Find(std::string_view path, std::string_view allowed) {
    known_.emplace(path);
    const Json::json_pointer pointer = Pointer(path);
    if (root_.contains(pointer)) return &root_.at(pointer);
    if (!may_omit_ && status_.ok()) {
      status_ = InvalidArgument("{} is missing, allowed: {}", path, allowed);
    }
    return nullptr;
  }

  void Fail(std::string_view path, const Json& value, std::string_view allowed) {
    if (!status_.ok()) return;
    constexpr auto kReplace = Json::error_handler_t::replace;
    status_ = InvalidArgument("{} is {}, allowed: {}", path,
                              value.dump(-1, ' ', false, kReplace).substr(0, 80), allowed);
  }

  const Json& root_;
  bool may_omit_;
  std::set<std::string, std::less<>> known_;
  absl::Status status_;
};

struct Writer {
  Json root = Json::object();

  void operator()(std::string_view path, const std::string& field) { root[Pointer(path)] = field; }
  void operator()(std::string_view path, const bool& field) { root[Pointer(path)] = field; }
  template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
  void operator()(std::string_view path, const Enum& field) {
    root[Pointer(path)] = std::string(EnumNames(field)[static_cast<size_t>(field)]);
  }
  template <typename Number>
  void operator()(std::string_view path, const Number& field, std::type_identity_t<Number>,
                  std::type_identity_t<Number>) {
    root[Pointer(path)] = field;
  }
};

// The same without blanks, field by field: a JSON object allocates where it is destroyed, and ends
// the process where it cannot, which a load must not. Fields of a group follow one another.
class CompactWriter {
 public:
  void operator()(std::string_view path, const bool& field) { Add(path, field); }
  template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
  void operator()(std::string_view path, const Enum& field) {
    Add(path, EnumNames(field)[static_cast<size_t>(field)]);
  }
  template <typename Number>
  void operator()(std::string_view path, const Number& field, std::type_identity_t<Number>,
                  std::type_identity_t<Number>) {
    Add(path, field);
  }
  std::string Finish() && {
    Enter("");
    return std::move(text_) + "}";
  }

 private:
  void Add(std::string_view path, const Json& leaf) {
    const size_t group_end = path.rfind('.') + 1;  // 0 where there is no dot
    Enter(path.substr(0, group_end));
    Name(path.substr(group_end));
    text_ += leaf.dump();
  }
  // Closes groups and opens others until `group` ("dram.timing.") is the one that is open.
  void Enter(std::string_view group) {
    while (!group.starts_with(group_)) {
      text_ += '}';
      group_.resize(group_.rfind('.', group_.size() - 2) + 1);
    }
    while (group_ != group) {
      const size_t end = group.find('.', group_.size());
      Name(group.substr(group_.size(), end - group_.size()));
      text_ += '{';
      group_ = group.substr(0, end + 1);
    }
  }
  void Name(std::string_view key) {
    if (text_.back() != '{') text_ += ',';
    text_ += fmt::format("\"{}\":", key);
  }

  std::string text_ = "{";
  std::string group_;  // that is open, with a dot behind each name
};

// The first key of `object` (in its order) that no field has, with the keys that are allowed there.
absl::Status CheckKeysKnown(const Json& object, const std::string& prefix,
                            const std::set<std::string, std::less<>>& known) {
  for (const auto& [key, value] : object.items()) {
    const std::string path = prefix + key;
    const auto inside = known.lower_bound(path + ".");
    const bool is_group = inside != known.end() && inside->starts_with(path + ".");
    if (is_group && value.is_object()) {
      BERTH_RETURN_IF_ERROR(CheckKeysKnown(value, path + ".", known));
    } else if (is_group) {
      return InvalidArgument("{} is not an object", path);
    } else if (!known.contains(path)) {
      std::vector<std::string> allowed;
      for (const std::string& name : known) {
        if (!name.starts_with(prefix)) continue;
        const size_t end = name.find('.', prefix.size());
        const std::string key_here = name.substr(prefix.size(), end - prefix.size());
        if (allowed.empty() || allowed.back() != key_here) allowed.push_back(key_here);
      }
      return InvalidArgument("{} is not a key, allowed: {}", path, absl::StrJoin(allowed, ", "));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> ParseObject(std::string_view text) {
  BERTH_ASSIGN_OR_RETURN(Json root, ParseJson<Json>(text));
  if (!root.is_object()) return InvalidArgument("not a JSON object");
  return root;
}

absl::StatusOr<NpuConfig> ParseExtending(std::string_view json_text, int depth);

absl::StatusOr<NpuConfig> Base(const Json& extends, int depth) {
  // Deeper than any chain of presets; a preset that extends itself ends here.
  constexpr int kMaxDepth = 4;
  for (const EmbeddedPreset& preset : EmbeddedPresets()) {
    if (extends.is_string() && extends.get<std::string>() == preset.name && depth < kMaxDepth) {
      return ParseExtending(preset.json_text, depth + 1);
    }
  }
  return InvalidArgument("{} is {}, allowed: {}", kExtends, extends.dump().substr(0, 80),
                         PresetNames());
}

absl::StatusOr<NpuConfig> ParseExtending(std::string_view json_text, int depth) {
  BERTH_ASSIGN_OR_RETURN(Json root, ParseObject(json_text));
  NpuConfig config;
  const bool extends = root.contains(kExtends);
  if (extends) {
    BERTH_ASSIGN_OR_RETURN(config, Base(root[kExtends], depth));
    root.erase(kExtends);
  }
  Reader reader(root, extends);
  config_internal::VisitFields(config, reader);
  const absl::Status unknown = CheckKeysKnown(root, "", reader.known());
  if (!unknown.ok() && !reader.status().ok()) {
    // A misspelled key is also a missing one: say both.
    return InvalidArgument("{}; {}", ToStd(unknown.message()), ToStd(reader.status().message()));
  }
  BERTH_RETURN_IF_ERROR(unknown);
  BERTH_RETURN_IF_ERROR(reader.status());
  if (config.dram.model == DramModel::kFlat) config.dram.timing = {};
  BERTH_RETURN_IF_ERROR(Validate(config));
  return config;
}

}  // namespace

absl::StatusOr<NpuConfig> ParseNpuConfig(std::string_view json_text, std::string_view where) {
  absl::StatusOr<NpuConfig> config = ParseExtending(json_text, 0);
  if (!config.ok()) return Annotate(config.status(), where);
  return config;
}

std::string ToJson(const NpuConfig& config) {
  Writer writer;
  config_internal::VisitFields(config, writer);
  return writer.root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

uint64_t Fingerprint(const NpuConfig& config) {
  CompactWriter writer;
  config_internal::VisitMachine(config, writer);
  const std::string canonical = std::move(writer).Finish();
  return XXH3_64bits(canonical.data(), canonical.size());
}

}  // namespace berth
