// Oracle: a std::map of what was put; a value that comes back is the one that was put, whatever happens to the file.
#include "runtime/store/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "runtime/store/sha256.h"

namespace trident::store {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/dev/shm/trident-store-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    path_ = directory_ + "/cache.db";
  }
  void TearDown() override { fs::remove_all(directory_); }

  /// `count` records of random size, put into a new store at path_.
  std::map<std::string, std::string> fill(int count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::map<std::string, std::string> model;
    Store store({.path = path_});
    for (int i = 0; i < count; ++i) {
      std::string key(32, '\0'), value(random() % 6000, '\0');
      for (char& c : key) c = static_cast<char>(random());
      for (char& c : value) c = static_cast<char>(random());
      EXPECT_TRUE(store.put(as_bytes(key), as_bytes(value)).ok());
      model[key] = value;
    }
    EXPECT_EQ(store.stats().mode, Mode::disk) << store.stats().reason;
    return model;
  }
  std::string directory_, path_;
};

TEST(Sha256, KnownAnswerAndPieceBoundaries) {
  // The digest of 8 zero bytes (the length of an empty piece): `head -c8 /dev/zero | sha256sum`.
  const Digest digest = sha256({{}});
  EXPECT_EQ(digest[0], 0xaf);
  EXPECT_EQ(digest[1], 0x55);
  EXPECT_EQ(digest[31], 0xfc);
  EXPECT_NE(sha256({as_bytes("ab"), as_bytes("c")}), sha256({as_bytes("a"), as_bytes("bc")}));
}

TEST_F(StoreTest, RecordsSurviveReopening) {
  const auto model = fill(50, 1);
  Store store({.path = path_});
  EXPECT_EQ(store.stats().records, model.size());
  for (const auto& [key, value] : model) {
    const auto got = store.get(as_bytes(key));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(text_of(*got), value);
  }
  EXPECT_FALSE(store.get(as_bytes("absent")).has_value());
  EXPECT_EQ(store.stats().hits, model.size());
  EXPECT_EQ(store.stats().misses, 1u);
}

TEST_F(StoreTest, PutReplacesAndReadersSeeIt) {
  Store store({.path = path_});
  ASSERT_TRUE(store.put(as_bytes("k"), as_bytes("one")).ok());
  EXPECT_EQ(text_of(*store.get(as_bytes("k"))), "one");
  ASSERT_TRUE(store.put(as_bytes("k"), as_bytes("")).ok());
  EXPECT_EQ(text_of(*store.get(as_bytes("k"))), "");
  EXPECT_EQ(store.stats().records, 1u);
  EXPECT_EQ(store.stats().bytes, 0u);
}

TEST_F(StoreTest, TheLeastRecentlyUsedGoFirst) {
  const std::string block(1000, 'x');
  Store store({.path = path_, .bytes_max = 10'000});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(store.put(as_bytes("key" + std::to_string(i)), as_bytes(block)).ok());
  EXPECT_EQ(store.stats().evicted, 0u);
  EXPECT_TRUE(store.get(as_bytes("key0")).has_value());  // used: key1 is the oldest now
  for (int i = 10; i < 13; ++i) ASSERT_TRUE(store.put(as_bytes("key" + std::to_string(i)), as_bytes(block)).ok());
  EXPECT_TRUE(store.get(as_bytes("key0")).has_value());
  for (int i = 1; i <= 3; ++i) EXPECT_FALSE(store.get(as_bytes("key" + std::to_string(i))).has_value()) << i;
  EXPECT_TRUE(store.get(as_bytes("key4")).has_value());
  EXPECT_EQ(store.stats().bytes, 10'000u);
  EXPECT_EQ(store.stats().evicted, 3u);
}

// A record whose digest differs in any byte, or is too short, does not count.
TEST_F(StoreTest, EveryByteOfTheDigestCounts) {
  const std::string value = "forty-two";
  ASSERT_TRUE(Store({.path = path_}).put(as_bytes("k"), as_bytes(value)).ok());
  const Digest digest = sha256({as_bytes("k"), as_bytes(value)});
  const auto answer_with = [&](const std::vector<std::uint8_t>& stored) {
    sqlite3* db = nullptr;
    EXPECT_EQ(SQLITE_OK, sqlite3_open(path_.c_str(), &db));
    sqlite3_stmt* update = nullptr;
    EXPECT_EQ(SQLITE_OK, sqlite3_prepare_v2(db, "UPDATE record SET digest=?1", -1, &update, nullptr));
    sqlite3_bind_blob(update, 1, stored.data(), static_cast<int>(stored.size()), SQLITE_STATIC);
    EXPECT_EQ(SQLITE_DONE, sqlite3_step(update));
    EXPECT_EQ(1, sqlite3_changes(db));
    sqlite3_finalize(update);
    sqlite3_close(db);
    Store store({.path = path_});
    const auto got = store.get(as_bytes("k"));
    EXPECT_EQ(got.has_value() ? 0u : 1u, store.stats().rejected);
    return got.has_value() ? text_of(*got) : "rejected";
  };
  const std::vector<std::uint8_t> right(digest.begin(), digest.end());
  EXPECT_EQ(value, answer_with(right));
  for (std::size_t i = 0; i < right.size(); ++i) {
    std::vector<std::uint8_t> wrong = right;
    wrong[i] ^= 1;
    EXPECT_EQ("rejected", answer_with(wrong)) << i;
  }
  EXPECT_EQ("rejected", answer_with({right.begin(), right.end() - 1}));
  EXPECT_EQ("rejected", answer_with({right[0]}));
  std::vector<std::uint8_t> longer = right;
  longer.push_back(0);
  EXPECT_EQ("rejected", answer_with(longer));
  EXPECT_EQ(value, answer_with(right));
}

TEST_F(StoreTest, TooLargeIsRefused) {
  Store store({.path = path_});
  EXPECT_EQ(store.put(as_bytes("k"), as_bytes(std::string(kRecordBytesMax + 1, 'x'))).error().code,
            ErrorCode::kLimitExceeded);
  EXPECT_TRUE(store.put(as_bytes("k"), as_bytes(std::string(kRecordBytesMax, 'x'))).ok());
  EXPECT_EQ(store.get(as_bytes("k"))->size(), kRecordBytesMax);
  EXPECT_EQ(store.put({}, as_bytes("v")).error().code, ErrorCode::kLimitExceeded);
}

/// Damages the file in one of the ways that disks and people know.
void mutate(const std::string& path, std::mt19937_64& random) {
  const auto size = fs::file_size(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = [&](std::uint64_t where) { file.seekp(static_cast<std::streamoff>(where)); };
  switch (random() % 5) {
    case 0:  // bit flips
      for (int i = 0; i < 20; ++i) {
        const std::uint64_t where = random() % size;
        file.seekg(static_cast<std::streamoff>(where));
        const char byte = static_cast<char>(file.get() ^ (1 << random() % 8));
        at(where);
        file.put(byte);
      }
      break;
    case 1:  // a page of noise
      at(random() % (size / 4096 + 1) * 4096);
      for (int i = 0; i < 4096; ++i) file.put(static_cast<char>(random()));
      break;
    case 2: fs::resize_file(path, random() % size); break;
    case 3:  // zeros
      at(random() % size);
      for (int i = 0; i < 5000; ++i) file.put('\0');
      break;
    case 4:  // noise in the header
      at(random() % 100);
      for (int i = 0; i < 4; ++i) file.put(static_cast<char>(random()));
      break;
  }
}

TEST_F(StoreTest, DamagedFilesGiveTheOldValueOrNothing) {
  const auto model = fill(40, 2);
  const std::string pristine = directory_ + "/pristine";
  fs::copy_file(path_, pristine);
  std::mt19937_64 random(3);
  int lost = 0, kept = 0, aside = 0;
  for (int round = 0; round < 250; ++round) {
    for (const char* suffix : {"", "-wal", "-shm", ".corrupt"}) fs::remove(path_ + suffix);
    fs::copy_file(pristine, path_);
    mutate(path_, random);
    Store store({.path = path_});
    for (const auto& [key, value] : model) {
      const auto got = store.get(as_bytes(key));
      ASSERT_TRUE(!got || text_of(*got) == value);
      ++(got ? kept : lost);
    }
    ASSERT_TRUE(store.put(as_bytes("after"), as_bytes("damage")).ok());
    ASSERT_TRUE(store.get(as_bytes("after")).has_value());
    EXPECT_EQ(text_of(*store.get(as_bytes("after"))), "damage");
    aside += static_cast<int>(store.stats().set_aside);
  }
  EXPECT_GT(lost, 0);  // the damage was real
  EXPECT_GT(kept, 0);
  EXPECT_GT(aside, 0);
}

TEST_F(StoreTest, AForeignFileIsSetAsideNotOverwritten) {
  { std::ofstream(path_) << "my holiday notes, long enough to be no empty database........................"; }
  Store store({.path = path_});
  EXPECT_EQ(store.stats().mode, Mode::disk);
  EXPECT_EQ(store.stats().set_aside, 1u);
  std::string kept;
  std::getline(std::ifstream(path_ + ".corrupt"), kept);
  EXPECT_EQ(kept.substr(0, 16), "my holiday notes");
}

TEST_F(StoreTest, WithoutADiskItIsABoundedMap) {
  Store store({.path = "/proc/nowhere/cache.db", .memory_bytes_max = 3000});
  EXPECT_EQ(store.stats().mode, Mode::memory);
  EXPECT_FALSE(store.stats().reason.empty());
  const std::string block(1000, 'y');
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store.put(as_bytes("key" + std::to_string(i)), as_bytes(block)).ok());
  EXPECT_FALSE(store.get(as_bytes("key1")).has_value());
  EXPECT_TRUE(store.get(as_bytes("key2")).has_value());
  EXPECT_EQ(store.stats().bytes, 3000u);
}

TEST_F(StoreTest, AFullDiskTurnsToMemoryAndRecovers) {
  Store store({.path = path_, .retry_after_ns = 0});
  ASSERT_TRUE(store.put(as_bytes("early"), as_bytes("on disk")).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  ASSERT_TRUE(store.put(as_bytes("late"), as_bytes(std::string(20'000, 'z'))).ok());
  EXPECT_EQ(store.stats().mode, Mode::memory);
  EXPECT_NE(store.stats().reason.find("disk"), std::string::npos)
      << store.stats().reason;  // "disk I/O error", "... is full"
  EXPECT_EQ(store.get(as_bytes("late"))->size(), 20'000u);
  EXPECT_EQ(text_of(*store.get(as_bytes("early"))), "on disk");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_TRUE(store.put(as_bytes("later"), as_bytes("on disk again")).ok());
  EXPECT_EQ(store.stats().mode, Mode::disk) << store.stats().reason;
  EXPECT_EQ(text_of(*store.get(as_bytes("later"))), "on disk again");
  EXPECT_EQ(text_of(*store.get(as_bytes("early"))), "on disk");
}

TEST_F(StoreTest, TwoStoresOnOneFileShareItAndItsLimit) {
  constexpr std::uint64_t kBytesMax = 60'000;
  std::mt19937_64 random(17);
  {
    Store one({.path = path_, .bytes_max = kBytesMax}), other({.path = path_, .bytes_max = kBytesMax});
    for (int i = 0; i < 600; ++i) {
      Store& store = random() % 2 == 0 ? one : other;
      const std::string key = "key" + std::to_string(i);
      ASSERT_TRUE(store.put(as_bytes(key), as_bytes(std::string(random() % 4000, 'z') + key)).ok());
      for (Store* each : {&one, &other}) {
        const auto got = each->get(as_bytes(key));
        ASSERT_TRUE(got.has_value()) << i;
        EXPECT_EQ(text_of(*got).substr(got->size() - key.size()), key);
      }
    }
    for (const Store* each : {&one, &other}) {
      EXPECT_EQ(each->stats().set_aside, 0u);
      EXPECT_EQ(each->stats().write_failures, 0u);
      EXPECT_EQ(each->stats().mode, Mode::disk);
    }
  }
  const Store after({.path = path_});
  EXPECT_LE(after.stats().bytes, kBytesMax);
  EXPECT_GT(after.stats().bytes, kBytesMax * 3 / 4);
}

TEST_F(StoreTest, AKilledWriterLosesNothingItCommitted) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Store store({.path = path_});
    for (std::uint32_t i = 0;; ++i) {
      const std::string key = "key" + std::to_string(i);
      if (!store.put(as_bytes(key), as_bytes(key + key)).ok()) ::_exit(1);
      if (::write(pipe_ends[1], &i, sizeof(i)) != sizeof(i)) ::_exit(1);
    }
  }
  std::uint32_t last = 0;
  while (last < 200) ASSERT_EQ(::read(pipe_ends[0], &last, sizeof(last)), static_cast<ssize_t>(sizeof(last)));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  Store store({.path = path_});
  EXPECT_EQ(store.stats().set_aside, 0u);
  for (std::uint32_t i = 0; i <= last; ++i) {
    const std::string key = "key" + std::to_string(i);
    const auto got = store.get(as_bytes(key));
    ASSERT_TRUE(got.has_value()) << i << " of " << last << ", records " << store.stats().records;
    EXPECT_EQ(text_of(*got), key + key);
  }
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

}  // namespace
}  // namespace trident::store
