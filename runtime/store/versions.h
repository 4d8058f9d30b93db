// Versions of one thing as files of a folder, one of them chosen: weights that a trainer promotes and a user rolls
// back.
//
//   FOLDER/<sha256>.bytes   a version, named by its digest; read-only, never written again
//   FOLDER/<sha256>.json    what is known of it (its figures, for people); may be absent
//   FOLDER/chosen           names, the chosen version first, behind it those that were chosen before it
//   FOLDER/lock             held while any of these is changed
//
// Every change is a rename: whatever ends a writer, readers find the old choice or the new one, and a file that is
// chosen was complete and on disk before. A version whose bytes no longer give its name is as good as absent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/os/fd.h"
#include "runtime/os/memfd.h"
#include "runtime/store/sha256.h"

namespace trident::store {

class Versions {
 public:
  /// The chosen name while no version is chosen. No file has it; the folder's owner knows what it stands for.
  static constexpr std::string_view kNone = "none";
  static constexpr std::string_view kExtension = ".bytes";
  /// A file in the folder. Watchers of the folder look again when it is replaced.
  static constexpr std::string_view kChosenFile = "chosen";
  /// Versions that were chosen before, of which one can roll back to; older ones are removed.
  static constexpr std::size_t kHistoryMax = 8;

  struct Version {
    std::string name;
    std::string figures;  ///< JSON, as add() was given it; may be empty
    bool chosen = false;
  };

  /// Makes the folder where absent. OsError.
  static Result<Versions> open(std::string folder);

  /// Read-only: does not create the folder. When the folder is absent, nothing was ever chosen.
  static Versions at(std::string folder) { return Versions(std::move(folder)); }

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Files with other extensions beside a version's are their owner's; they go when the version does.
  [[nodiscard]] std::string path_of(std::string_view name, std::string_view extension = kExtension) const;

  /// Stores a version; once more is the same. Returns its name. OsError.
  Result<std::string> add(std::span<const std::byte> bytes, std::string_view figures);
  /// The chosen name, or kNone. OsError, RejectedRecord for a choice that cannot be read.
  [[nodiscard]] Result<std::string> chosen() const;
  /// Makes `name` (or kNone) the chosen one. `instead_of`: only if that one is chosen still, else Cancelled: somebody
  /// else has chosen meanwhile. NotFound, RejectedRecord for a version that is not what its name says.
  Result<void> choose(std::string_view name, std::optional<std::string_view> instead_of = {});
  /// Chooses the version that was chosen before, and returns its name. NotFound when there is none.
  Result<std::string> roll_back();
  /// All versions, kNone too; those chosen before in their order, then the others. OsError for a folder that cannot be
  /// read.
  [[nodiscard]] Result<std::vector<Version>> list() const;
  /// Names in the folder that are none of the above, in order. Nothing here reads or removes them.
  [[nodiscard]] std::vector<std::string> strangers() const;
  /// The only version whose name begins so, or kNone. NotFound, InvalidArgument for several.
  [[nodiscard]] Result<std::string> find(std::string_view beginning) const;

  /// A version read-only in place, after its bytes were found to be what its name says. NotFound, RejectedRecord.
  [[nodiscard]] Result<os::Mapping> map(std::string_view name) const;

 private:
  explicit Versions(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] Result<std::vector<std::string>> history() const;
  Result<void> write_history(const std::vector<std::string>& names) const;
  void remove_forgotten(const std::vector<std::string>& kept) const;

  std::string folder_;
};

/// Maps a file whose bytes must have this digest, as 64 hexadecimal digits. NotFound, RejectedRecord, OsError.
Result<os::Mapping> map_verified(const std::string& path, std::string_view digest);
/// Does so for a file that is open already; `name` is its name in errors.
Result<os::Mapping> map_verified(const os::Fd& file, const std::string& name, std::string_view digest);

}  // namespace trident::store
