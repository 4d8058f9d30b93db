// Oracles: the written data, kept apart; SQLite itself for the file's content; a count of whole families after kill
// -9.
#include "jit/learn/timed_kernels.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

namespace trident::learn {
namespace {

namespace fs = std::filesystem;

const Machine kHere{"A CPU (family 1)", "avx2", "0123abcd", "2026-11-23"};

FamilyTimes family_of(int number, int kernels) {
  FamilyTimes family{"family" + std::to_string(number), number % 2 == 0 ? "corpus" : "scramble", {}, {}};
  for (int k = 0; k < kernels; ++k)
    family.kernels.push_back({0, "x:f64; x + " + std::to_string(k), k == 0 ? "source" : "best",
                              0.125 * (number + 1) + 0.5 * k, 0.125 * (number + 1) + 0.5 * k + 0.25});
  return family;
}

class TimedKernelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/dev/shm/trident-timed-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    path_ = folder_ + "/cache.kernels";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void append(std::span<const FamilyTimes> families, const Machine& machine = kHere) {
    auto writer = TimedKernelWriter::open(path_, machine);
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    const auto done = writer->append(families);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  /// Returns the rows that SQLite itself reads, columns with a blank between.
  std::vector<std::string> rows(const std::string& sql) {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    std::vector<std::string> all;
    const auto add = [](void* to, int columns, char** values, char**) {
      std::string row;
      for (int c = 0; c < columns; ++c) row += (c > 0 ? " " : "") + std::string(values[c] ? values[c] : "NULL");
      static_cast<std::vector<std::string>*>(to)->push_back(row);
      return 0;
    };
    char* why = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), add, &all, &why), SQLITE_OK) << why;
    sqlite3_free(why);
    sqlite3_close(db);
    return all;
  }
  std::string refusal() {
    const auto loaded = load_timed_kernels(path_);
    return loaded.ok() ? "loaded" : std::string(name_of(loaded.error().code)) + ": " + loaded.error().message;
  }
  std::string folder_, path_;
};

TEST_F(TimedKernelsTest, GivesBackWhatWasWritten) {
  const std::vector<FamilyTimes> written{family_of(0, 3), family_of(1, 1), family_of(2, 8)};
  append({written.data(), 2});
  append({written.data() + 2, 1});
  const auto all = load_timed_kernels(path_);
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->machines.size(), 1u);
  EXPECT_EQ(all->machines[0].cpu, kHere.cpu);
  EXPECT_EQ(all->machines[0].isa, kHere.isa);
  EXPECT_EQ(all->machines[0].build, kHere.build);
  EXPECT_EQ(all->machines[0].date, kHere.date);
  ASSERT_EQ(all->families.size(), written.size());
  for (std::uint32_t f = 0; f < written.size(); ++f) {
    const TimedFamily& family = all->families[f];
    EXPECT_EQ(family.name, written[f].name);
    EXPECT_EQ(family.generator, written[f].generator);
    EXPECT_EQ(family.machine, 0u);
    ASSERT_EQ(family.end - family.first, written[f].kernels.size());
    for (std::uint32_t k = family.first; k < family.end; ++k) {
      const TimedKernel &got = all->kernels[k], &want = written[f].kernels[k - family.first];
      EXPECT_EQ(got.family, f);
      EXPECT_EQ(got.text, want.text);
      EXPECT_EQ(got.how, want.how);
      EXPECT_EQ(got.ns, want.ns);
      EXPECT_EQ(got.ns_again, want.ns_again);
    }
  }
}

TEST_F(TimedKernelsTest, TheFileHoldsWhatSqliteReads) {
  FamilyTimes family = family_of(4, 2);
  family.kernels[1].text = "'; DROP TABLE kernel; --";
  family.earlier.push_back({1, 7.5, 9.25, 1});
  append({&family, 1});
  EXPECT_EQ(rows("SELECT cpu, isa, build, date FROM machine"),
            (std::vector<std::string>{"A CPU (family 1) avx2 0123abcd 2026-11-23"}));
  EXPECT_EQ(rows("SELECT family.name, generator, place, ns, ns_again, how, text FROM kernel JOIN family ON"
                 " family.id = kernel.family ORDER BY place"),
            (std::vector<std::string>{"family4 corpus 0 0.625 0.875 source x:f64; x + 0",
                                      "family4 corpus 1 1.125 1.375 best '; DROP TABLE kernel; --"}));
  EXPECT_EQ(rows("SELECT place, ns, ns_again, attempt FROM earlier"), (std::vector<std::string>{"1 7.5 9.25 1"}));
  EXPECT_EQ(rows("SELECT date FROM family"), (std::vector<std::string>{"2026-11-23"}));
  EXPECT_EQ(rows("PRAGMA integrity_check"), (std::vector<std::string>{"ok"}));
  EXPECT_EQ(rows("PRAGMA foreign_key_check"), std::vector<std::string>());
}

TEST_F(TimedKernelsTest, AFamilyThatIsThereIsLeftAndMachinesAreKeptApart) {
  const FamilyTimes first = family_of(0, 3);
  FamilyTimes other = family_of(0, 5);
  append({&first, 1});
  append({&other, 1});
  Machine newer = kHere;
  newer.build = "beef";
  append({&other, 1}, newer);
  const auto all = load_timed_kernels(path_);
  ASSERT_TRUE(all.ok()) << all.error().message;
  ASSERT_EQ(all->families.size(), 2u);
  EXPECT_EQ(all->families[0].end - all->families[0].first, 3u);
  EXPECT_EQ(all->families[1].end - all->families[1].first, 5u);
  EXPECT_EQ(all->families[1].machine, 1u);
  auto writer = TimedKernelWriter::open(path_, kHere);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(*writer->kernels(), 3u);
  EXPECT_EQ(*writer->families(), std::vector<std::string>{"family0"});
}

TEST_F(TimedKernelsTest, FirstAttemptsAreThoseThatWereNotKept) {
  FamilyTimes second_kept = family_of(0, 2), first_kept = family_of(1, 2);
  second_kept.earlier = {{0, 5, 6, 1}, {1, 7, 8, 1}, {1, 9, 10, 3}};
  first_kept.earlier = {{0, 5, 6, 2}, {1, 7, 8, 2}};
  append({&second_kept, 1});
  append({&first_kept, 1});
  const auto all = load_timed_kernels(path_);
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_TRUE(all->knows_attempts);
  const auto& k = all->kernels;
  EXPECT_EQ((std::vector{k[0].first_ns, k[0].first_ns_again, k[1].first_ns, k[1].first_ns_again}),
            (std::vector<double>{5, 6, 7, 8}));
  EXPECT_EQ((std::vector{k[2].first_ns, k[3].first_ns}), (std::vector<double>{0, 0}));
  rows("UPDATE earlier SET place=9 WHERE attempt=1");
  EXPECT_NE(refusal().find("to no kernel"), std::string::npos) << refusal();
}

TEST_F(TimedKernelsTest, FilesOfVersionOneAreReadAndBroughtUpToDate) {
  rows(
      "CREATE TABLE machine(id INTEGER PRIMARY KEY, cpu TEXT NOT NULL, isa TEXT NOT NULL, build TEXT NOT NULL,"
      " date TEXT NOT NULL, UNIQUE(cpu, isa, build));"
      "CREATE TABLE family(id INTEGER PRIMARY KEY, machine INTEGER NOT NULL REFERENCES machine(id), name TEXT NOT NULL,"
      " generator TEXT NOT NULL, UNIQUE(machine, name));"
      "CREATE TABLE kernel(family INTEGER NOT NULL REFERENCES family(id), place INTEGER NOT NULL, text TEXT NOT NULL,"
      " how TEXT NOT NULL, ns REAL NOT NULL, ns_again REAL NOT NULL, PRIMARY KEY(family, place)) WITHOUT ROWID;"
      "CREATE TABLE earlier(family INTEGER NOT NULL REFERENCES family(id), place INTEGER NOT NULL, ns REAL NOT NULL,"
      " ns_again REAL NOT NULL);"
      "INSERT INTO machine VALUES(3, 'A CPU (family 1)', 'avx2', '0123abcd', '2026-01-02');"
      "INSERT INTO family VALUES(4, 3, 'old', 'scramble');"
      "INSERT INTO kernel VALUES(4, 0, 'x + 1', 'source', 1, 2);"
      "INSERT INTO earlier VALUES(4, 0, 3, 4);"
      "PRAGMA application_id=1414679380; PRAGMA user_version=1;");
  const auto before = load_timed_kernels(path_);
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_EQ(before->kernels[0].first_ns, 3);
  const FamilyTimes family = family_of(0, 3);
  append({&family, 1});
  EXPECT_EQ(rows("SELECT name, date FROM family ORDER BY id"),
            (std::vector<std::string>{"old 2026-01-02", "family0 2026-11-23"}));
  EXPECT_EQ(rows("PRAGMA user_version"), std::vector<std::string>{"2"});
  const auto after = load_timed_kernels(path_);
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->machines.size(), 1u);
  EXPECT_EQ(after->kernels.size(), 4u);
  EXPECT_EQ(after->kernels[0].first_ns, 3);
}

TEST_F(TimedKernelsTest, TheOldestFamiliesGo) {
  const auto on_day = [&](int number, int kernels, const char* build, const char* date) {
    const FamilyTimes family = family_of(number, kernels);
    Machine machine = kHere;
    machine.build = build, machine.date = date;
    append({&family, 1}, machine);
  };
  on_day(0, 4, "here", "2026-11-03");
  on_day(1, 4, "here", "2026-11-01");
  on_day(2, 4, "here", "2026-11-02");
  on_day(3, 4, "before", "2026-12-01");
  on_day(4, 4, "before", "2026-10-01");
  Machine here = kHere;
  here.build = "here";
  auto writer = TimedKernelWriter::open(path_, here);
  ASSERT_TRUE(writer.ok());
  EXPECT_EQ(writer->newest().value(), "2026-11-03");
  const auto left = [&] { return rows("SELECT name FROM family ORDER BY id"); };
  EXPECT_EQ(writer->drop_oldest(12, 20).value(), 0u);
  EXPECT_EQ(writer->drop_oldest(12, 16).value(), 4u);
  EXPECT_EQ(left(), (std::vector<std::string>{"family0", "family1", "family2", "family3"}));
  EXPECT_EQ(writer->drop_oldest(9, 16).value(), 0u);
  EXPECT_EQ(writer->drop_oldest(8, 16).value(), 4u);
  EXPECT_EQ(left(), (std::vector<std::string>{"family0", "family2", "family3"}));
  EXPECT_EQ(writer->drop_oldest(8, 8).value(), 4u);
  EXPECT_EQ(left(), (std::vector<std::string>{"family0", "family2"}));
  EXPECT_EQ(rows("SELECT build FROM machine"), std::vector<std::string>{"here"});
  EXPECT_EQ(writer->drop_oldest(4, 8).value(), 4u);
  EXPECT_EQ(left(), std::vector<std::string>{"family0"});
  EXPECT_EQ(rows("PRAGMA foreign_key_check"), std::vector<std::string>());
}

TEST_F(TimedKernelsTest, RefusesWhatCouldNotBeRead) {
  auto writer = TimedKernelWriter::open(path_, kHere);
  ASSERT_TRUE(writer.ok());
  const auto refused = [&](auto change) {
    std::vector<FamilyTimes> two{family_of(0, 2), family_of(1, 2)};
    change(two[1]);
    const auto done = writer->append(two);
    return !done.ok() && done.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](FamilyTimes& f) { f.name = ""; }));
  EXPECT_TRUE(refused([](FamilyTimes& f) { f.generator = ""; }));
  EXPECT_TRUE(refused([](FamilyTimes& f) { f.kernels.clear(); }));
  EXPECT_TRUE(refused([](FamilyTimes& f) { f.kernels.resize(kFamilyKernelsMax + 1, f.kernels[0]); }));
  EXPECT_TRUE(refused([](FamilyTimes& f) { f.kernels[1].text = ""; }));
  EXPECT_TRUE(refused([](FamilyTimes& f) { f.kernels[1].ns = 0; }));
  EXPECT_TRUE(refused([](FamilyTimes& f) { f.kernels[1].ns_again = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](FamilyTimes& f) { f.earlier.push_back({0, -1, 1}); }));
  EXPECT_EQ(*writer->kernels(), 0u);
  EXPECT_FALSE(refused([](FamilyTimes&) {}));
  EXPECT_EQ(*writer->kernels(), 4u);
}

TEST_F(TimedKernelsTest, FilesThatAreNoneAreRefused) {
  EXPECT_NE(refusal().find("NotFound"), std::string::npos);
  EXPECT_FALSE(fs::exists(path_));
  std::ofstream(path_) << "no database, but a text that is longer than a header of one hundred bytes, as files are: "
                          "this one says nothing more";
  EXPECT_EQ(refusal(), "RejectedRecord: " + path_ + ": this file is not a cache of timed kernels");
  EXPECT_FALSE(TimedKernelWriter::open(path_, kHere).ok());
  fs::remove(path_);
  rows("CREATE TABLE kernel(x)");
  EXPECT_NE(refusal().find("this SQLite file is not a cache"), std::string::npos) << refusal();
  EXPECT_FALSE(TimedKernelWriter::open(path_, kHere).ok());
  fs::remove(path_);
  const FamilyTimes family = family_of(0, 3);
  append({&family, 1});
  rows("PRAGMA user_version=7");
  EXPECT_NE(refusal().find("version 7"), std::string::npos) << refusal();
  EXPECT_FALSE(TimedKernelWriter::open(path_, kHere).ok());
}

TEST_F(TimedKernelsTest, WhatIsNotWholeIsRefused) {
  const FamilyTimes family = family_of(0, 3);
  for (const auto& [change, why] : {std::pair{"DELETE FROM kernel WHERE place=1", "a gap"},
                                    {"DELETE FROM kernel", "has no kernels"},
                                    {"DELETE FROM family", "to no family"},
                                    {"DELETE FROM machine", "to no machine"},
                                    {"UPDATE kernel SET ns=-1 WHERE place=2", "not positive and finite"},
                                    {"UPDATE kernel SET ns_again=9e999", "not positive and finite"},
                                    {"UPDATE kernel SET text=x'' WHERE place=0", "text is empty"},
                                    {"UPDATE kernel SET ns='fast'", "not positive and finite"},
                                    {"DROP TABLE kernel", "damaged"}}) {
    fs::remove(path_);
    append({&family, 1});
    ASSERT_EQ(refusal(), "loaded");
    rows(change);
    EXPECT_NE(refusal().find(why), std::string::npos) << change << ": " << refusal();
  }
}

TEST_F(TimedKernelsTest, DamagedFilesAreRefusedOrReadWithoutHarm) {
  std::vector<FamilyTimes> families;
  for (int f = 0; f < 60; ++f) families.push_back(family_of(f, 8));
  append(families);
  std::string whole;
  {
    std::ifstream in(path_, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::mt19937_64 random(5);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    if (round % 5 == 0) bytes.resize(random() % bytes.size());
    for (std::uint64_t flips = 1 + random() % 40; flips > 0 && !bytes.empty(); --flips)
      bytes[random() % (round % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 4096))] =
          static_cast<char>(random());
    std::ofstream(path_, std::ios::binary) << bytes;
    const auto loaded = load_timed_kernels(path_);
    refused += !loaded.ok();
    if (!loaded.ok()) continue;
    for (const TimedFamily& family : loaded->families) ASSERT_LT(family.first, family.end);
    for (const TimedKernel& kernel : loaded->kernels) ASSERT_GT(kernel.ns, 0);
  }
  EXPECT_GT(refused, 50);
}

TEST_F(TimedKernelsTest, KilledWritersLeaveWholeFamilies) {
  std::size_t before = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<pid_t> writers;
    for (int w = 0; w < 2; ++w) {
      const pid_t pid = ::fork();
      ASSERT_GE(pid, 0);
      if (pid == 0) {
        auto writer = TimedKernelWriter::open(path_, kHere);
        // Both write the same families, in different orders.
        for (int batch = 0; writer.ok() && batch < 100'000; ++batch) {
          std::vector<FamilyTimes> families;
          for (int f = 0; f < 20; ++f)
            families.push_back(family_of((round * 10'000 + batch) * 20 + (w ? f : 19 - f), 7));
          if (!writer->append(families).ok()) ::_exit(1);
        }
        ::_exit(0);
      }
      writers.push_back(pid);
    }
    ::usleep(20'000 + 3'000 * static_cast<unsigned>(round));
    for (const pid_t pid : writers) {
      ::kill(pid, SIGKILL);
      int status = 0;
      ASSERT_EQ(::waitpid(pid, &status, 0), pid);
      ASSERT_TRUE(WIFSIGNALED(status)) << "a writer was refused";
    }
    const auto all = load_timed_kernels(path_);
    ASSERT_TRUE(all.ok()) << all.error().message;
    std::set<std::string> names;
    for (const TimedFamily& family : all->families) {
      ASSERT_EQ(family.end - family.first, 7u);
      ASSERT_TRUE(names.insert(family.name).second);
    }
    EXPECT_GE(all->families.size(), before);
    EXPECT_EQ(all->families.size() % 20, 0u);
    before = all->families.size();
  }
  EXPECT_GT(before, 0u);
  EXPECT_EQ(rows("PRAGMA integrity_check"), (std::vector<std::string>{"ok"}));
}

}  // namespace
}  // namespace trident::learn
