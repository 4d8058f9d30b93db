#include "runtime/store/connection.h"

#include "runtime/base/check.h"
#include "runtime/os/clock.h"

namespace trident::store {
namespace {

constexpr int kApplicationId = 0x54524453;  // "TRDS": tells a file of ours from any other SQLite file
constexpr int kFormatVersion = 1;
/// A damaged tree can be a very large tree: no operation on a sound file comes near this.
constexpr std::uint64_t kOperationMaxNs = 5'000'000'000;
constexpr int kInstructionsPerLook = 20'000;
constexpr int kEvictionBatch = 16;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS record(key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL, digest BLOB NOT NULL,"
    " used INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS record_used ON record(used);";

Verdict verdict_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return Verdict::ok;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_INTERRUPT:                       // too_long()
    case SQLITE_ERROR: return Verdict::corrupt;  // our statements are right: the schema in the file is not
    default: return Verdict::refused;
  }
}

void bind_blob(sqlite3_stmt* statement, int index, const void* data, std::size_t size) {
  // A null pointer would bind NULL instead of an empty blob.
  CHECK(sqlite3_bind_blob64(statement, index, data != nullptr ? data : "", size, SQLITE_STATIC) == SQLITE_OK);
}

Bytes column_bytes(sqlite3_stmt* statement, int column) {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement, column));
  const int size = sqlite3_column_bytes(statement, column);
  return data == nullptr ? Bytes() : Bytes(data, data + size);
}

/// Resets a statement at the end of the scope, which ends its read transaction and its hold on bound memory.
struct Resetting {
  sqlite3_stmt* statement;
  explicit Resetting(sqlite3_stmt* s) : statement(s) {}
  Resetting(const Resetting&) = delete;
  Resetting& operator=(const Resetting&) = delete;
  ~Resetting() {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }
};

}  // namespace

int Store::Connection::too_long(void* self) {
  return os::monotonic_ns() > static_cast<Connection*>(self)->give_up_at_ns_ ? 1 : 0;
}

void Store::Connection::start_clock() {
  give_up_at_ns_ = os::monotonic_ns() + kOperationMaxNs;
}

std::pair<std::unique_ptr<Store::Connection>, Verdict> Store::Connection::open(const std::string& path, Role role,
                                                                               std::string& why) {
  auto connection = std::make_unique<Connection>();
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (role == Role::writer ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  connection->db_.reset(raw);
  Verdict verdict = verdict_of(code);
  if (verdict == Verdict::ok) {
    connection->start_clock();
    verdict = connection->configure(role);
  }
  if (verdict == Verdict::ok) return {std::move(connection), verdict};
  why = raw == nullptr                      ? "out of memory"
        : sqlite3_errcode(raw) == SQLITE_OK ? "the database belongs to another program or version"
                                            : sqlite3_errmsg(raw);
  return {nullptr, verdict};
}

Verdict Store::Connection::configure(Role role) {
  sqlite3* db = db_.get();
  sqlite3_progress_handler(db, kInstructionsPerLook, too_long, this);
  sqlite3_busy_timeout(db, role == Role::writer ? 1000 : 0);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, static_cast<int>(kRecordBytesMax + 4096));
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  const auto failed = [](Verdict v) { return v != Verdict::ok; };
  if (Verdict v = run("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                      "PRAGMA temp_store=MEMORY; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                      "PRAGMA journal_size_limit=16777216;");
      failed(v))
    return v;
  Statement id;
  if (Verdict v = prepare(id,
                          "SELECT (SELECT application_id FROM pragma_application_id),"
                          " (SELECT user_version FROM pragma_user_version),"
                          " (SELECT count(*) FROM sqlite_schema)");
      failed(v))
    return v;
  if (sqlite3_step(id.get()) != SQLITE_ROW) return verdict_of(sqlite3_errcode(db));
  const int application = sqlite3_column_int(id.get(), 0), version = sqlite3_column_int(id.get(), 1);
  const bool empty = sqlite3_column_int(id.get(), 2) == 0;
  id.reset();
  if (!empty && (application != kApplicationId || version != kFormatVersion)) return Verdict::corrupt;
  if (role == Role::writer) {
    if (Verdict v = run("PRAGMA application_id=1414677587; PRAGMA user_version=1;"); failed(v)) return v;
    static_assert(kApplicationId == 1414677587);
    static_assert(kFormatVersion == 1);
    if (Verdict v = run(kSchema); failed(v)) return v;
    for (const auto& [statement, sql] :
         {std::pair{&size_, "SELECT length(value) FROM record WHERE key=?1"},
          std::pair{&put_, "INSERT OR REPLACE INTO record(key, value, digest, used) VALUES(?1, ?2, ?3, ?4)"},
          std::pair{&touch_, "UPDATE record SET used=?2 WHERE key=?1"},
          std::pair{&oldest_, "SELECT key, length(value) FROM record ORDER BY used LIMIT ?1"},
          std::pair{&remove_, "DELETE FROM record WHERE key=?1"}})
      if (Verdict v = prepare(*statement, sql); failed(v)) return v;
    if (Verdict v = prepare(version_, "PRAGMA data_version"); failed(v)) return v;
    if (Verdict v = read_totals(); failed(v)) return v;
  }
  return prepare(get_, "SELECT value, digest FROM record WHERE key=?1");
}

Verdict Store::Connection::read_totals() {
  Statement totals;
  if (Verdict v = prepare(totals, "SELECT count(value), total(length(value)), max(used) FROM record"); v != Verdict::ok)
    return v;
  const int code = sqlite3_step(totals.get());
  if (code != SQLITE_ROW) return verdict_of(code);
  totals_.records = static_cast<std::uint64_t>(sqlite3_column_int64(totals.get(), 0));
  totals_.bytes = static_cast<std::uint64_t>(sqlite3_column_double(totals.get(), 1));
  use_ = sqlite3_column_int64(totals.get(), 2);
  // A mutated counter at the end of its range would end the order of use.
  return use_ < 0 || use_ > (std::int64_t{1} << 62) ? Verdict::corrupt : Verdict::ok;
}

Verdict Store::Connection::look_for_other_writers(bool& found) {
  const Resetting reset(version_.get());
  const int code = sqlite3_step(version_.get());
  if (code != SQLITE_ROW) return verdict_of(code);
  const std::int64_t version = sqlite3_column_int64(version_.get(), 0);
  found = version != data_version_;
  data_version_ = version;
  return Verdict::ok;
}

Verdict Store::Connection::run(const char* sql) {
  return verdict_of(sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr));
}

Verdict Store::Connection::prepare(Statement& statement, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  statement.reset(raw);
  return verdict_of(code);
}

Verdict Store::Connection::step_to_end(sqlite3_stmt* statement) {
  const Resetting reset(statement);
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
  }
  return verdict_of(code);
}

Verdict Store::Connection::get(const std::string& key, Row& row) {
  start_clock();
  const Resetting reset(get_.get());
  bind_blob(get_.get(), 1, key.data(), key.size());
  const int code = sqlite3_step(get_.get());
  if (code == SQLITE_DONE) return Verdict::absent;
  if (code != SQLITE_ROW) return verdict_of(code);
  row.value = column_bytes(get_.get(), 0);
  row.digest = column_bytes(get_.get(), 1);
  return Verdict::ok;
}

Verdict Store::Connection::put(const std::string& key, std::span<const std::byte> value,
                               std::span<const std::uint8_t> digest, const std::vector<std::string>& touched,
                               std::uint64_t bytes_max, std::uint64_t& evicted) {
  start_clock();
  if (Verdict v = run("BEGIN IMMEDIATE"); v != Verdict::ok) {
    failure_ = sqlite3_errmsg(db_.get());
    return v;
  }
  // Another daemon on the same file: what was counted here is no longer what is there.
  bool others = false;
  Verdict v = look_for_other_writers(others);
  if (v == Verdict::ok && others) v = read_totals();
  const Totals before = totals_;
  if (v == Verdict::ok) v = put_in_transaction(key, value, digest, touched, bytes_max, evicted);
  if (v == Verdict::ok) v = run("COMMIT");
  if (v != Verdict::ok) {
    failure_ = sqlite3_errmsg(db_.get());  // before the rollback has one of its own
    // A full disk ends the transaction by itself.
    if (sqlite3_get_autocommit(db_.get()) == 0) run("ROLLBACK");
    totals_ = before;
  }
  return v;
}

Verdict Store::Connection::put_in_transaction(const std::string& key, std::span<const std::byte> value,
                                              std::span<const std::uint8_t> digest,
                                              const std::vector<std::string>& touched, std::uint64_t bytes_max,
                                              std::uint64_t& evicted) {
  for (const std::string& used : touched) {
    bind_blob(touch_.get(), 1, used.data(), used.size());
    sqlite3_bind_int64(touch_.get(), 2, ++use_);
    if (Verdict v = step_to_end(touch_.get()); v != Verdict::ok) return v;
  }
  {
    const Resetting reset(size_.get());
    bind_blob(size_.get(), 1, key.data(), key.size());
    const int code = sqlite3_step(size_.get());
    if (code == SQLITE_ROW) {
      const auto replaced = static_cast<std::uint64_t>(sqlite3_column_int64(size_.get(), 0));
      totals_.bytes -= replaced < totals_.bytes ? replaced : totals_.bytes;
      if (totals_.records > 0) --totals_.records;
    } else if (code != SQLITE_DONE) {
      return verdict_of(code);
    }
  }
  bind_blob(put_.get(), 1, key.data(), key.size());
  bind_blob(put_.get(), 2, value.data(), value.size());
  bind_blob(put_.get(), 3, digest.data(), digest.size());
  sqlite3_bind_int64(put_.get(), 4, ++use_);
  if (Verdict v = step_to_end(put_.get()); v != Verdict::ok) return v;
  totals_.bytes += value.size();
  ++totals_.records;
  return evict(bytes_max, evicted);
}

Verdict Store::Connection::evict(std::uint64_t bytes_max, std::uint64_t& evicted) {
  while (totals_.bytes > bytes_max && totals_.records > 1) {
    std::vector<std::pair<std::string, std::uint64_t>> oldest;
    {
      const Resetting reset(oldest_.get());
      sqlite3_bind_int(oldest_.get(), 1, kEvictionBatch);
      int code;
      while ((code = sqlite3_step(oldest_.get())) == SQLITE_ROW) {
        const Bytes key = column_bytes(oldest_.get(), 0);
        oldest.emplace_back(std::string(reinterpret_cast<const char*>(key.data()), key.size()),
                            static_cast<std::uint64_t>(sqlite3_column_int64(oldest_.get(), 1)));
      }
      if (code != SQLITE_DONE) return verdict_of(code);
    }
    if (oldest.empty()) return Verdict::corrupt;  // totals and contents disagree
    for (const auto& [key, size] : oldest) {
      if (totals_.bytes <= bytes_max || totals_.records <= 1) break;
      bind_blob(remove_.get(), 1, key.data(), key.size());
      if (Verdict v = step_to_end(remove_.get()); v != Verdict::ok) return v;
      if (sqlite3_changes(db_.get()) != 1) return Verdict::corrupt;
      totals_.bytes -= size < totals_.bytes ? size : totals_.bytes;
      --totals_.records;
      ++evicted;
    }
  }
  return Verdict::ok;
}

}  // namespace trident::store
