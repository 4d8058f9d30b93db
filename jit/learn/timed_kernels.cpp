#include "jit/learn/timed_kernels.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "jit/learn/packed_kernels.h"
#include "runtime/base/check.h"
#include "runtime/base/limits.h"
#include "runtime/os/atomic_file.h"
#include "runtime/os/clock.h"
#include "runtime/os/regular_file.h"

namespace trident::learn {
namespace {

constexpr int kApplicationId = 0x54524B54;  // "TRKT"
constexpr int kFormatVersion = 2, kOldVersion = 1;
constexpr int kBusyMs = 20'000;
/// Limits one statement: a damaged tree can be a very large tree, and a sound file needs far less.
constexpr std::uint64_t kStatementMaxNs = 120'000'000'000;
constexpr int kInstructionsPerLook = 1'000'000;
constexpr std::size_t kLabelMax = 256;
constexpr std::size_t kMachinesMax = 10'000;
constexpr std::size_t kPackedBytesMax = std::size_t{256} << 20;

constexpr const char* kSchema =
    "CREATE TABLE machine(id INTEGER PRIMARY KEY, cpu TEXT NOT NULL, isa TEXT NOT NULL, build TEXT NOT NULL,"
    " date TEXT NOT NULL, UNIQUE(cpu, isa, build));"
    "CREATE TABLE family(id INTEGER PRIMARY KEY, machine INTEGER NOT NULL REFERENCES machine(id), name TEXT NOT NULL,"
    " generator TEXT NOT NULL, date TEXT NOT NULL DEFAULT '', UNIQUE(machine, name));"
    "CREATE TABLE kernel(family INTEGER NOT NULL REFERENCES family(id), place INTEGER NOT NULL, text TEXT NOT NULL,"
    " how TEXT NOT NULL, ns REAL NOT NULL, ns_again REAL NOT NULL, PRIMARY KEY(family, place)) WITHOUT ROWID;"
    "CREATE TABLE earlier(family INTEGER NOT NULL REFERENCES family(id), place INTEGER NOT NULL, ns REAL NOT NULL,"
    " ns_again REAL NOT NULL, attempt INTEGER NOT NULL DEFAULT 0);"
    "PRAGMA application_id=1414679380; PRAGMA user_version=2;";
/// Updates version 1: a family without a day gets that of its machine.
constexpr const char* kUpdate =
    "ALTER TABLE family ADD COLUMN date TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE earlier ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;"
    "UPDATE family SET date = (SELECT machine.date FROM machine WHERE machine.id = family.machine);"
    "PRAGMA user_version=2;";
static_assert(kApplicationId == 1414679380);
static_assert(kFormatVersion == 2);

Error damaged(const std::string& path, const char* why) {
  return make_error(ErrorCode::kRejectedRecord, "%s: the cache of timed kernels is damaged: %s", path.c_str(), why);
}

Error error_of(sqlite3* db, const std::string& path) {
  switch (sqlite3_errcode(db)) {
    case SQLITE_NOTADB:
      return make_error(ErrorCode::kRejectedRecord, "%s: this file is not a cache of timed kernels", path.c_str());
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_INTERRUPT:
    case SQLITE_ERROR: return damaged(path, sqlite3_errmsg(db));
    case SQLITE_NOMEM: return make_error(ErrorCode::kOutOfMemory, "%s: %s", path.c_str(), sqlite3_errmsg(db));
    case SQLITE_IOERR:
      if (sqlite3_extended_errcode(db) != SQLITE_IOERR_WRITE) break;
      return make_error(ErrorCode::kOsError,
                        "%s: cannot be written: the file has reached the limit of ulimit -f, or the disk failed",
                        path.c_str());
    default: break;
  }
  return make_error(ErrorCode::kOsError, "%s: %s", path.c_str(), sqlite3_errmsg(db));
}

int too_long(void* give_up_at_ns) {
  return os::monotonic_ns() > *static_cast<std::uint64_t*>(give_up_at_ns) ? 1 : 0;
}

/// One prepared statement. Bound texts must outlive the step.
class Statement {
 public:
  static Result<Statement> prepare(sqlite3* db, const std::string& path, const char* sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db, sql, -1, &raw, nullptr) != SQLITE_OK) return error_of(db, path);
    return Statement(db, raw, path);
  }
  void bind(int index, const std::string& text) {
    CHECK(sqlite3_bind_text64(stmt_.get(), index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK);
  }
  void bind(int index, std::int64_t number) { CHECK(sqlite3_bind_int64(stmt_.get(), index, number) == SQLITE_OK); }
  void bind(int index, double number) { CHECK(sqlite3_bind_double(stmt_.get(), index, number) == SQLITE_OK); }
  template <class... Values>
  void bind_all(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
  }
  /// Steps; returns true if there is a row.
  Result<bool> step() {
    std::uint64_t give_up_at_ns = os::monotonic_ns() + kStatementMaxNs;
    sqlite3_progress_handler(db_, kInstructionsPerLook, too_long, &give_up_at_ns);
    const int code = sqlite3_step(stmt_.get());
    sqlite3_progress_handler(db_, 0, nullptr, nullptr);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return error_of(db_, path_);
  }
  /// Runs a statement without rows, and resets it.
  Result<void> run() {
    auto row = step();
    sqlite3_reset(stmt_.get());
    if (!row.ok()) return row.error();
    return {};
  }
  [[nodiscard]] std::string text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(stmt_.get(), column));
    return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(size(column)));
  }
  [[nodiscard]] int size(int column) const { return sqlite3_column_bytes(stmt_.get(), column); }
  [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(stmt_.get(), column); }
  [[nodiscard]] double real(int column) const { return sqlite3_column_double(stmt_.get(), column); }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  Statement(sqlite3* db, sqlite3_stmt* stmt, std::string path) : db_(db), stmt_(stmt), path_(std::move(path)) {}
  sqlite3* db_;
  std::unique_ptr<sqlite3_stmt, Finalize> stmt_;
  std::string path_;
};

Result<void> run(sqlite3* db, const std::string& path, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error_of(db, path);
  return {};
}

/// A transaction, rolled back unless it is committed.
class Transaction {
 public:
  static Result<std::unique_ptr<Transaction>> begin(sqlite3* db, const std::string& path, const char* how) {
    TRY_VOID(run(db, path, how));
    return std::unique_ptr<Transaction>(new Transaction(db, path));
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (!ended_) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Result<void> commit() {
    TRY_VOID(run(db_, path_, "COMMIT"));
    ended_ = true;
    return {};
  }

 private:
  Transaction(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
  sqlite3* db_;
  std::string path_;
  bool ended_ = false;
};

/// Returns the version of the file's tables, 0 without any.
Result<int> version_of(sqlite3* db, const std::string& path) {
  TRY(Statement identity, Statement::prepare(db, path,
                                             "SELECT (SELECT application_id FROM pragma_application_id),"
                                             " (SELECT user_version FROM pragma_user_version),"
                                             " (SELECT count(*) FROM sqlite_schema)"));
  TRY(const bool row, identity.step());
  if (!row) return damaged(path, "its header is missing");
  if (identity.number(2) == 0) return 0;
  if (identity.number(0) != kApplicationId)
    return make_error(ErrorCode::kRejectedRecord, "%s: this SQLite file is not a cache of timed kernels", path.c_str());
  if (identity.number(1) != kFormatVersion && identity.number(1) != kOldVersion)
    return make_error(ErrorCode::kRejectedRecord,
                      "%s: this cache of timed kernels has version %lld; this program reads version %d", path.c_str(),
                      static_cast<long long>(identity.number(1)), kFormatVersion);
  return static_cast<int>(identity.number(1));
}

Result<sqlite3*> open_file(const std::string& path, bool create) {
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  if (code != SQLITE_OK) {
    Error error = db == nullptr ? make_error(ErrorCode::kOutOfMemory, "%s: out of memory", path.c_str())
                                : make_error(ErrorCode::kOsError, "%s: %s", path.c_str(), sqlite3_errmsg(db));
    sqlite3_close(db);
    return error;
  }
  sqlite3_busy_timeout(db, kBusyMs);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, static_cast<int>(limits::kTextBytesMax + 4096));
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return db;
}

constexpr const char* kSettings =
    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY;"
    "PRAGMA synchronous=FULL;";

bool is_time(double ns) {
  return std::isfinite(ns) && ns > 0 && ns <= kTimedNsMax;
}

/// Says what is wrong with a kernel, or returns null.
const char* fault_of(const TimedKernel& kernel) {
  if (kernel.text.empty() || kernel.text.size() > limits::kTextBytesMax) return "a kernel's text is empty or too long";
  if (kernel.how.empty() || kernel.how.size() > kLabelMax) return "a kernel's origin is empty or too long";
  if (!is_time(kernel.ns) || !is_time(kernel.ns_again)) return "a kernel's time is not positive and finite";
  return nullptr;
}
const char* fault_of(const std::string& name, const std::string& generator, std::size_t kernels) {
  if (name.empty() || name.size() > kLabelMax) return "a family's name is empty or too long";
  if (generator.empty() || generator.size() > kLabelMax) return "a family's generator is empty or too long";
  if (kernels == 0 || kernels > kFamilyKernelsMax) return "a family has no kernels or too many";
  return nullptr;
}

/// Returns the bytes of a packed cache; none for any other file.
Result<std::vector<std::byte>> packed_file(const std::string& path) {
  TRY(const os::Fd file, os::open_regular_file(path));
  std::vector<std::byte> bytes(16);
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return make_error(ErrorCode::kOsError, "%s: %s", path.c_str(), std::strerror(errno));
  if (static_cast<std::size_t>(got) != bytes.size() || !is_packed(bytes)) return std::vector<std::byte>();
  return os::read_file(path, kPackedBytesMax);
}

class Loader {
 public:
  Loader(sqlite3* db, const std::string& path, int version) : db_(db), path_(path), version_(version) {}

  Result<TimedKernels> load() {
    TRY(auto transaction, Transaction::begin(db_, path_, "BEGIN"));
    TRY_VOID(machines());
    TRY_VOID(families());
    TRY_VOID(kernels());
    TRY_VOID(first_attempts());
    TRY_VOID(transaction->commit());
    return std::move(all_);
  }

 private:
  Result<void> machines() {
    TRY(Statement rows, Statement::prepare(db_, path_, "SELECT id, cpu, isa, build, date FROM machine ORDER BY id"));
    for (;;) {
      TRY(const bool more, rows.step());
      if (!more) return {};
      if (all_.machines.size() == kMachinesMax) return damaged(path_, "too many machines");
      machine_of_[rows.number(0)] = static_cast<std::uint32_t>(all_.machines.size());
      all_.machines.push_back({rows.text(1), rows.text(2), rows.text(3), rows.text(4)});
    }
  }

  Result<void> families() {
    TRY(Statement rows, Statement::prepare(db_, path_, "SELECT id, machine, name, generator FROM family ORDER BY id"));
    for (;;) {
      TRY(const bool more, rows.step());
      if (!more) return {};
      const auto machine = machine_of_.find(rows.number(1));
      if (machine == machine_of_.end()) return damaged(path_, "a family belongs to no machine");
      if (all_.families.size() == kTimedKernelsMax) return too_many();
      ids_.push_back(rows.number(0));
      all_.families.push_back({rows.text(2), rows.text(3), machine->second});
    }
  }

  Result<void> kernels() {
    TRY(Statement rows, Statement::prepare(db_, path_,
                                           "SELECT family, place, text, how, ns, ns_again FROM kernel"
                                           " ORDER BY family, place"));
    std::uint32_t next = 0;  // family
    for (;;) {
      TRY(const bool more, rows.step());
      if (!more) break;
      if (all_.kernels.size() == kTimedKernelsMax) return too_many();
      const auto at = static_cast<std::uint32_t>(all_.kernels.size());
      if (next < ids_.size() && rows.number(0) == ids_[next]) {
        if (next > 0) TRY_VOID(close(next - 1));
        all_.families[next++].first = at;
      } else if (next == 0 || rows.number(0) != ids_[next - 1]) {
        return damaged(path_, "a kernel belongs to no family");
      }
      if (rows.number(1) != at - all_.families[next - 1].first)
        return damaged(path_, "the numbers of a family's kernels have a gap");
      TimedKernel kernel{next - 1, rows.text(2), rows.text(3), rows.real(4), rows.real(5)};
      if (const char* fault = fault_of(kernel); fault != nullptr) return damaged(path_, fault);
      all_.kernels.push_back(std::move(kernel));
    }
    if (next != ids_.size()) return damaged(path_, "a family has no kernels");
    if (next > 0) TRY_VOID(close(next - 1));
    return {};
  }

  /// Reads the first attempts of families that kept another one. Version 1 does not number attempts: the first row
  /// counts, which may be of a second attempt after a first one that was kept.
  Result<void> first_attempts() {
    const bool numbered = version_ != kOldVersion;
    TRY(Statement rows,
        Statement::prepare(db_, path_,
                           numbered
                               ? "SELECT family, place, ns, ns_again FROM earlier WHERE attempt <= 1 ORDER BY rowid"
                               : "SELECT family, place, ns, ns_again FROM earlier ORDER BY rowid"));
    for (;;) {
      TRY(const bool more, rows.step());
      if (!more) break;
      const auto id = std::lower_bound(ids_.begin(), ids_.end(), rows.number(0));
      if (id == ids_.end() || *id != rows.number(0)) return damaged(path_, "an earlier time belongs to no family");
      const TimedFamily& family = all_.families[static_cast<std::size_t>(id - ids_.begin())];
      const double ns = rows.real(2), again = rows.real(3);
      if (rows.number(1) < 0 || rows.number(1) >= family.end - family.first || !is_time(ns) || !is_time(again))
        return damaged(path_, "an earlier time belongs to no kernel, or is not positive and finite");
      TimedKernel& kernel = all_.kernels[family.first + static_cast<std::size_t>(rows.number(1))];
      if (kernel.first_ns == 0) kernel.first_ns = ns, kernel.first_ns_again = again;
    }
    all_.knows_attempts = true;
    return {};
  }

  Result<void> close(std::uint32_t number) {
    TimedFamily& family = all_.families[number];
    family.end = static_cast<std::uint32_t>(all_.kernels.size());
    if (const char* fault = fault_of(family.name, family.generator, family.end - family.first); fault != nullptr)
      return damaged(path_, fault);
    return {};
  }

  [[nodiscard]] Error too_many() const {
    return make_error(ErrorCode::kLimitExceeded, "%s: more than %zu kernels", path_.c_str(), kTimedKernelsMax);
  }

  sqlite3* db_;
  const std::string& path_;
  int version_;
  std::map<std::int64_t, std::uint32_t> machine_of_;
  std::vector<std::int64_t> ids_;  ///< ids of families
  TimedKernels all_;
};

}  // namespace

void TimedKernelWriter::CloseDb::operator()(sqlite3* db) const {
  sqlite3_close(db);
}

Result<TimedKernels> load_timed_kernels(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    return make_error(ErrorCode::kNotFound, "%s: no such file; `trident calibrate --kernels N` makes one",
                      path.c_str());
  TRY(const auto packed, packed_file(path));
  if (!packed.empty()) return unpack(packed, path);
  TRY(sqlite3* const raw, open_file(path, false));
  const std::unique_ptr<sqlite3, decltype([](sqlite3* db) { sqlite3_close(db); })> db(raw);
  TRY_VOID(run(raw, path, kSettings));
  TRY(const int version, version_of(raw, path));
  if (version == 0)
    return make_error(ErrorCode::kRejectedRecord, "%s: this cache of timed kernels is empty", path.c_str());
  return Loader(raw, path, version).load();
}

Result<TimedKernelWriter> TimedKernelWriter::open(const std::string& path, const Machine& machine) {
  TRY(sqlite3* const raw, open_file(path, true));
  TimedKernelWriter writer(raw, path);
  writer.date_ = machine.date;
  TRY_VOID(run(raw, path, kSettings));
  TRY(auto transaction, Transaction::begin(raw, path, "BEGIN IMMEDIATE"));
  TRY(const int version, version_of(raw, path));
  if (version == 0) TRY_VOID(run(raw, path, kSchema));
  if (version == kOldVersion) TRY_VOID(run(raw, path, kUpdate));
  TRY(Statement add, Statement::prepare(raw, path,
                                        "INSERT OR IGNORE INTO machine(cpu, isa, build, date)"
                                        " VALUES(?1, ?2, ?3, ?4)"));
  add.bind_all(machine.cpu, machine.isa, machine.build, machine.date);
  TRY_VOID(add.run());
  TRY(Statement id, Statement::prepare(raw, path, "SELECT id FROM machine WHERE cpu=?1 AND isa=?2 AND build=?3"));
  id.bind_all(machine.cpu, machine.isa, machine.build);
  TRY(const bool found, id.step());
  if (!found) return damaged(path, "a machine is missing right after it was written");
  writer.machine_ = id.number(0);
  { const Statement done = std::move(id); }  // ends the read: a commit would wait for it
  TRY_VOID(transaction->commit());
  return writer;
}

Result<std::vector<std::string>> TimedKernelWriter::families() {
  TRY(Statement rows, Statement::prepare(db_.get(), path_, "SELECT name FROM family WHERE machine=?1 ORDER BY id"));
  rows.bind_all(machine_);
  std::vector<std::string> names;
  for (;;) {
    TRY(const bool more, rows.step());
    if (!more) return names;
    names.push_back(rows.text(0));
  }
}

Result<std::uint64_t> TimedKernelWriter::kernels() {
  TRY(Statement count, Statement::prepare(db_.get(), path_,
                                          "SELECT count(*) FROM family JOIN kernel ON kernel.family = family.id"
                                          " WHERE family.machine=?1"));
  count.bind_all(machine_);
  TRY(const bool row, count.step());
  return row ? static_cast<std::uint64_t>(count.number(0)) : 0;
}

Result<std::string> TimedKernelWriter::newest() {
  TRY(Statement rows, Statement::prepare(db_.get(), path_, "SELECT max(date) FROM family WHERE machine=?1"));
  rows.bind_all(machine_);
  TRY(const bool row, rows.step());
  return row ? rows.text(0) : std::string();
}

Result<std::uint64_t> TimedKernelWriter::drop_oldest(std::uint64_t kernels_min, std::uint64_t of_all_max) {
  sqlite3* db = db_.get();
  TRY(auto transaction, Transaction::begin(db, path_, "BEGIN IMMEDIATE"));
  struct Old {
    std::int64_t id;
    std::uint64_t kernels;
    bool here;
  };
  std::vector<Old> families;
  std::uint64_t here = 0, all = 0, dropped = 0;
  {
    TRY(Statement rows, Statement::prepare(db, path_,
                                           "SELECT family.id, count(*), family.machine=?1 FROM family JOIN kernel"
                                           " ON kernel.family = family.id GROUP BY family.id"
                                           " ORDER BY family.machine=?1, family.date, family.id"));
    rows.bind_all(machine_);
    for (;;) {
      TRY(const bool more, rows.step());
      if (!more) break;
      families.push_back({rows.number(0), static_cast<std::uint64_t>(rows.number(1)), rows.number(2) != 0});
      all += families.back().kernels;
      here += families.back().here ? families.back().kernels : 0;
    }
  }
  for (const Old& family : families) {
    if (family.here ? here < kernels_min + family.kernels : all <= of_all_max) continue;
    for (const char* sql : {"DELETE FROM earlier WHERE family=?1", "DELETE FROM kernel WHERE family=?1",
                            "DELETE FROM family WHERE id=?1"}) {
      TRY(Statement remove, Statement::prepare(db, path_, sql));
      remove.bind_all(family.id);
      TRY_VOID(remove.run());
    }
    dropped += family.kernels, all -= family.kernels;
    here -= family.here ? family.kernels : 0;
  }
  TRY_VOID(
      run(db, path_, "DELETE FROM machine WHERE NOT EXISTS(SELECT 1 FROM family WHERE family.machine = machine.id)"));
  TRY_VOID(transaction->commit());
  return dropped;
}

Result<void> TimedKernelWriter::append(std::span<const FamilyTimes> families) {
  for (const FamilyTimes& family : families) {
    const char* fault = fault_of(family.name, family.generator, family.kernels.size());
    for (const TimedKernel& kernel : family.kernels)
      if (fault == nullptr) fault = fault_of(kernel);
    for (const FamilyTimes::Earlier& earlier : family.earlier)
      if (fault == nullptr && (!is_time(earlier.ns) || !is_time(earlier.ns_again)))
        fault = "an earlier time is not positive and finite";
    if (fault != nullptr) return make_error(ErrorCode::kInvalidArgument, "family %s: %s", family.name.c_str(), fault);
  }
  sqlite3* db = db_.get();
  TRY(auto transaction, Transaction::begin(db, path_, "BEGIN IMMEDIATE"));
  TRY(Statement add, Statement::prepare(db, path_,
                                        "INSERT INTO family(machine, name, generator, date) VALUES(?1, ?2, ?3, ?4)"
                                        " ON CONFLICT DO NOTHING"));
  TRY(Statement add_kernel, Statement::prepare(db, path_, "INSERT INTO kernel VALUES(?1, ?2, ?3, ?4, ?5, ?6)"));
  TRY(Statement add_earlier, Statement::prepare(db, path_, "INSERT INTO earlier VALUES(?1, ?2, ?3, ?4, ?5)"));
  for (const FamilyTimes& family : families) {
    add.bind_all(machine_, family.name, family.generator, date_);
    TRY_VOID(add.run());
    if (sqlite3_changes(db) == 0) continue;
    const std::int64_t id = sqlite3_last_insert_rowid(db);
    std::int64_t place = 0;
    for (const TimedKernel& kernel : family.kernels) {
      add_kernel.bind_all(id, place++, kernel.text, kernel.how, kernel.ns, kernel.ns_again);
      TRY_VOID(add_kernel.run());
    }
    for (const FamilyTimes::Earlier& earlier : family.earlier) {
      add_earlier.bind_all(id, std::int64_t{earlier.place}, earlier.ns, earlier.ns_again,
                           std::int64_t{earlier.attempt});
      TRY_VOID(add_earlier.run());
    }
  }
  return transaction->commit();
}

}  // namespace trident::learn
