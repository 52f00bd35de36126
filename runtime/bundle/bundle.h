// Bundles on disk: writing them whole or not at all, reading them as hostile input.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/bundle/contents.h"
#include "runtime/bundle/mapping.h"

namespace berth {

// Writes beside `path` under a temporary name and renames: a failure leaves no file behind and an
// old one untouched. NotFound/FailedPrecondition with the system's reason.
absl::Status WriteBundle(const std::string& path, const BundleContents& contents);
// The bytes of that file.
std::vector<std::byte> SerializeBundle(const BundleContents& contents);

// Of the bytes of a bundle in memory: its sections begin on multiples of that.
inline constexpr size_t kBundleAlignmentBytes = 64;

enum class LoadLevel : uint8_t {
  kFull = 0,     // every hash, the whole proof, the conflict graph recomputed and compared
  kTrusted = 1,  // metadata hash and structure: for a host that has verified the file before. The
                 // commands and constants are not touched, and nothing stays resident but metadata
};

// An open bundle: metadata decoded, raw segments mapped read-only. Immutable; shared by all
// threads.
class Bundle {
 public:
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  // Refusals are DataLoss and name section, index and offset; a missing or unreadable file is
  // NotFound or FailedPrecondition.
  static absl::StatusOr<std::shared_ptr<const Bundle>> Open(const std::string& path,
                                                            LoadLevel level);
  // The same of a file's bytes in memory, aligned to kBundleAlignmentBytes; `owner` keeps them.
  // `name` stands for the path in messages.
  static absl::StatusOr<std::shared_ptr<const Bundle>> FromMemory(absl::Span<const std::byte> bytes,
                                                                  std::shared_ptr<const void> owner,
                                                                  std::string_view name,
                                                                  LoadLevel level);
  // Over contents in memory (a host that plans and runs at once). The proof runs here too.
  static absl::StatusOr<std::shared_ptr<const Bundle>> FromContents(BundleContents contents,
                                                                    LoadLevel level);

  // Everything but the raw segments, which are in program(), conflicts() and constants().
  const BundleContents& info() const { return info_; }
  const ProgramView& program() const { return program_; }
  const ConflictGraphView& conflicts() const { return conflicts_; }
  absl::Span<const std::byte> constants() const { return constants_; }
  // Of a dynamic model whose largest shape was planned: that plan, else null.
  const std::shared_ptr<const Bundle>& maximum() const { return maximum_; }

 private:
  Bundle() = default;
  absl::Status Read(absl::Span<const std::byte> bytes, LoadLevel level);
  absl::Status ReadMaximum(LoadLevel level);
  // Structure alone.
  absl::Status Check() const;
  // The proof and the conflict graph, on two threads.
  absl::Status Prove() const;

  std::shared_ptr<const void> owner_;  // of the file's bytes; null when over contents in memory
  BundleContents info_;
  ProgramView program_;
  ConflictGraphView conflicts_;
  absl::Span<const std::byte> constants_;
  std::shared_ptr<const Bundle> maximum_;
};

}  // namespace berth
