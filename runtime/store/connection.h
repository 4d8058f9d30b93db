// One SQLite connection to a store's file with its prepared statements. Private to runtime/store.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/store/store.h"

namespace trident::store {

/// The outcome of an operation on the file.
enum class Verdict : std::uint8_t {
  ok,
  absent,
  corrupt,  ///< the file is damaged or not ours
  refused   ///< the disk is full, read-only, busy or broken
};

class Store::Connection {
 public:
  enum class Role : std::uint8_t { reader, writer };
  /// Opens (a writer also creates) the file. On failure says what it is and why.
  static std::pair<std::unique_ptr<Connection>, Verdict> open(const std::string& path, Role role, std::string& why);

  /// A value with the digest stored beside it, neither checked.
  struct Row {
    Bytes value;
    Bytes digest;
  };
  Verdict get(const std::string& key, Row& row);

  struct Totals {
    std::uint64_t records = 0, bytes = 0;
  };
  /// Adds or replaces one record, marks `touched` as used and evicts down to `bytes_max`, in one transaction.
  Verdict put(const std::string& key, std::span<const std::byte> value, std::span<const std::uint8_t> digest,
              const std::vector<std::string>& touched, std::uint64_t bytes_max, std::uint64_t& evicted);
  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// Why the last put() failed.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  struct CloseDb {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  Verdict configure(Role role);
  Verdict read_totals();
  /// Sets `found` when another process has written to the file since the last look.
  Verdict look_for_other_writers(bool& found);
  Verdict run(const char* sql);
  Verdict prepare(Statement& statement, const char* sql);
  Verdict step_to_end(sqlite3_stmt* statement);
  Verdict put_in_transaction(const std::string& key, std::span<const std::byte> value,
                             std::span<const std::uint8_t> digest, const std::vector<std::string>& touched,
                             std::uint64_t bytes_max, std::uint64_t& evicted);
  Verdict evict(std::uint64_t bytes_max, std::uint64_t& evicted);
  void start_clock();
  static int too_long(void* self);

  std::unique_ptr<sqlite3, CloseDb> db_;
  Statement get_, size_, put_, touch_, oldest_, remove_, version_;
  Totals totals_;
  std::int64_t data_version_ = 0;
  std::int64_t use_ = 0;  ///< grows with each use; orders eviction
  std::uint64_t give_up_at_ns_ = 0;
  std::string failure_;
};

}  // namespace trident::store
