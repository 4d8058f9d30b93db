// Oracle: files and flags written by hand, with the settings they should give.
#include "daemon/config/config.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

namespace trident::config {
namespace {

Result<std::variant<Settings, Answered, CheckOnly>> load_flags(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "tridentd");
  return load(static_cast<int>(flags.size()), flags.data());
}

TEST(Config, FileOverDefaultsAndFlagsOverFile) {
  char pattern[] = "/tmp/trident-config-XXXXXX";
  const std::string file = std::string(::mkdtemp(pattern)) + "/t.toml";
  std::ofstream(file) << "workers = 3\nbudget_ms = 77\nlog_json = true\nlog_level = \"debug\"\n";
  const auto loaded = load_flags({"--config", file.c_str(), "--budget-ms", "88", "--budget-ms", "99"});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto& settings = std::get<Settings>(*loaded);
  EXPECT_EQ(settings.workers, 3u);
  EXPECT_EQ(settings.budget_ms, 99u);
  EXPECT_TRUE(settings.log_json);
  EXPECT_EQ(settings.log_level, "debug");
  EXPECT_EQ(settings.connections_per_user, 64u);
  (void)!std::system(("rm -rf " + file.substr(0, file.rfind('/'))).c_str());
}

/// Ends with 0 where `check` holds. Root may read everything, so it is nobody who reads.
int as_nobody(const std::function<bool()>& check) {
  constexpr uid_t kNobody = 65534;
  const pid_t child = ::fork();
  if (child == 0) ::_exit((::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) || !check() ? 1 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// Settings that nobody misses would be passed over: a file that is there and cannot be read is an error.
TEST(Config, AFileThatCannotBeReadIsNotPassedOver) {
  namespace fs = std::filesystem;
  char pattern[] = "/tmp/trident-config-XXXXXX";
  const std::string home = ::mkdtemp(pattern), folder = home + "/.config/trident", file = folder + "/tridentd.toml";
  fs::create_directories(folder);
  fs::permissions(home, fs::perms(0755));
  ::unsetenv("CONFIGURATION_DIRECTORY");
  ::unsetenv("XDG_CONFIG_HOME");
  ::setenv("HOME", home.c_str(), 1);
  const auto refused = [&](const std::string& why) {
    const auto loaded = load_flags({});
    return !loaded.ok() && loaded.error().message.starts_with(file + ": ") &&
           loaded.error().message.find(why) != std::string::npos &&
           loaded.error().message.find("--config") != std::string::npos;
  };
  EXPECT_TRUE(load_flags({}).ok());
  std::ofstream(file) << "workers = 7\n";
  fs::permissions(file, fs::perms(0));
  EXPECT_EQ(as_nobody([&] { return refused("Permission denied"); }), 0);
  fs::permissions(file, fs::perms(0644));
  EXPECT_EQ(as_nobody([&] { return std::get<Settings>(load_flags({}).value()).workers == 7; }), 0);
  fs::permissions(folder, fs::perms(0));  // who cannot look into the folder cannot know that it is empty
  EXPECT_EQ(as_nobody([&] { return refused("Permission denied"); }), 0);
  EXPECT_EQ(as_nobody([&] { return load_flags({"--config", "none"}).ok(); }), 0);
  fs::permissions(folder, fs::perms(0755));
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_TRUE(refused("a folder"));
  fs::remove(file);
  fs::create_symlink("/nonexistent/t.toml", file);
  EXPECT_TRUE(refused("No such file"));
  fs::remove(file);
  fs::create_symlink(file, file);
  EXPECT_TRUE(refused("symbolic links"));
  ::setenv("HOME", "/dev/null", 1);  // of users without a home
  EXPECT_TRUE(load_flags({}).ok());
  ::setenv("CONFIGURATION_DIRECTORY", home.c_str(), 1);
  ::setenv("HOME", home.c_str(), 1);
  EXPECT_TRUE(load_flags({}).ok());  // that of the service alone counts
  ::unsetenv("CONFIGURATION_DIRECTORY");
  fs::remove_all(home);
}

// The right to read helps where it is missing, and nowhere else.
TEST(Config, AFileThatCannotBeReadComesWithTheCureOfItsCause) {
  namespace fs = std::filesystem;
  char pattern[] = "/tmp/trident-config-XXXXXX";
  const std::string folder = ::mkdtemp(pattern), file = folder + "/t.toml", none = folder + "/none.toml";
  std::ofstream(file) << "workers = 3\n";
  fs::permissions(folder, fs::perms(0755));
  fs::permissions(file, fs::perms(0));
  const auto says = [](const std::string& path, const std::string& cure, const std::string& not_cure) {
    const auto loaded = load_flags({"--config", path.c_str()});
    if (loaded.ok()) return false;
    const std::string& text = loaded.error().message;
    return text.find(cure) != text.npos && text.find(not_cure) == text.npos && text.find("--config") != text.npos;
  };
  EXPECT_EQ(as_nobody([&] { return says(file, "let user 65534 read it, or name another file", "write it"); }), 0);
  EXPECT_TRUE(says(none, "write it, or name another file", "let user"));
  EXPECT_TRUE(says(folder, "name another file", "let user"));
  EXPECT_TRUE(says(folder, "name another file", "write it"));
  fs::permissions(folder, fs::perms(0));
  EXPECT_EQ(as_nobody([&] { return says(file, "let user 65534 read it", "write it"); }), 0);
  fs::permissions(folder, fs::perms(0700));
  fs::remove_all(folder);
}

TEST(Config, SettingsThatWaitForARestartAreNamed) {
  EXPECT_TRUE(waiting_for_restart({}, {}).empty());
  EXPECT_TRUE(
      waiting_for_restart({}, {.budget_ms = 1, .connections = 2, .log_level = "error", .log_json = true}).empty());
  EXPECT_EQ(waiting_for_restart({}, {.socket = "/s", .rules = {"a"}, .workers = 3, .budget_ms = 1}),
            (std::vector<std::string>{"socket", "rules", "workers"}));
}

TEST(Config, CanBeCheckedAlone) {
  EXPECT_EQ(std::get<CheckOnly>(*load_flags({"--check-config", "--workers", "3"})).settings.workers, 3u);
  EXPECT_FALSE(load_flags({"--check-config", "--workers", "257"}).ok());
}

TEST(Config, OptimiseWorkersAreAsManyAsProcessorsUnlessTold) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  constexpr std::uint64_t kMany = 1024;
  EXPECT_EQ(optimise_workers({}, kMany), std::min(CPU_COUNT(&before), 4));
  EXPECT_EQ(optimise_workers({}, 40), 1u);
  EXPECT_EQ(optimise_workers({}, 8), 1u);
  EXPECT_EQ(optimise_workers({}, 42), std::min(CPU_COUNT(&before), 2));
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(optimise_workers({}, kMany), 1u);
  EXPECT_EQ(optimise_workers({.workers = 7}, 40), 7u);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Config, ErrorsNameFileLineAndSetting) {
  const auto message = [](const char* text) {
    const auto settings = apply_file({}, text, "f.toml");
    return settings.ok() ? std::string("accepted") : settings.error().message;
  };
  EXPECT_EQ(message("workers = 1\nworkesr = 2\n"), "f.toml:2: unknown setting 'workesr': did you mean workers?");
  EXPECT_EQ(message("\n\nworkers = \"two\"\n"), "f.toml:3: setting 'workers' must be a whole number, not negative");
  EXPECT_EQ(message("workers = -1\n"), "f.toml:1: setting 'workers' must be a whole number, not negative");
  EXPECT_EQ(message("log_json = 1\n"), "f.toml:1: setting 'log_json' must be true or false");
  EXPECT_EQ(message("log_level = 1\n"),
            "f.toml:1: setting 'log_level' must be a text such as \"a\", with no zero byte in it");
  EXPECT_FALSE(apply_file({}, "socket = \"a\\u0000b\"\n", "f.toml").ok());
  EXPECT_FALSE(apply_file({}, "rules = [\"a\\u0000b\"]\n", "f.toml").ok());
  EXPECT_EQ(message("zzzzzzzzz = 1\n"), "f.toml:1: unknown setting 'zzzzzzzzz': tridentd --help lists all settings");
  EXPECT_EQ(message("workers = 1\nwhat is this").substr(0, 9), "f.toml:2:");
  EXPECT_EQ(message("log_json = true\nworkers = 257\n"), "f.toml:2: workers is outside 0..256");
  EXPECT_EQ(message("\nlog_level = \"loud\"\n"),
            "f.toml:2: log_level 'loud' is unknown: expected debug, info, warning or error");
  EXPECT_EQ(message("# nothing\n"), "accepted");
}

TEST(Config, ListsAreArraysOrRepeatedFlags) {
  const auto rules = [](const char* text) { return apply_file({}, text, "f.toml")->rules; };
  EXPECT_EQ(rules("rules = [\"a\", \"b\"]\n"), (list{"a", "b"}));
  EXPECT_EQ(rules("rules = \"a\"\n"), list{"a"});
  EXPECT_EQ(rules("rules = []\n"), list{});
  for (const char* text : {"rules = 1\n", "rules = [\"a\", 2]\n"})
    EXPECT_EQ(apply_file({}, text, "f.toml").error().message,
              "f.toml:1: setting 'rules' must be a text, or an array of texts such as [\"a\", \"b\"]");
  char pattern[] = "/tmp/trident-config-XXXXXX";
  const std::string file = std::string(::mkdtemp(pattern)) + "/t.toml";
  std::ofstream(file) << "rules = [\"a\", \"b\"]\n";
  const auto loaded = [&](std::vector<const char*> flags) {
    flags.insert(flags.begin(), {"--config", file.c_str()});
    return std::get<Settings>(load_flags(flags).value()).rules;
  };
  EXPECT_EQ(loaded({}), (list{"a", "b"}));
  EXPECT_EQ(loaded({"--rules", "c", "--workers", "2", "--rules", "d"}), (list{"c", "d"}));  // instead of the file's
  EXPECT_EQ(loaded({"--rules", ""}), list{""});
  (void)!std::system(("rm -rf " + file.substr(0, file.rfind('/'))).c_str());
}

TEST(Config, RangesAndWordsAreChecked) {
  EXPECT_EQ(load_flags({"--baseline-workers", "0"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(load_flags({"--workers", "257"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(load_flags({"--log-level", "loud"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(load_flags({"--config", "/nonexistent.toml"}).error().code, ErrorCode::kNotFound);
}

TEST(Config, WrongFlagsAndHelpAreAnswered) {
  ::testing::internal::CaptureStdout();
  const auto help = load_flags({"--help"});
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::get<Answered>(*help).exit_status, 0);
#define X(name, type, standard, min, max, meaning)                                \
  {                                                                               \
    std::string flag = "--" #name;                                                \
    for (char& c : flag) c = c == '_' ? '-' : c;                                  \
    EXPECT_NE(text.find(flag), std::string::npos) << flag << " is not in --help"; \
  }
#include "daemon/config/settings.def"
#undef X
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(std::get<Answered>(*load_flags({"--no-such-flag"})).exit_status, 2);
  EXPECT_FALSE(::testing::internal::GetCapturedStderr().empty());
}

TEST(Config, PathsFollowTheEnvironment) {
  const auto with = [](const char* name, const char* value, auto call) {
    ::setenv(name, value, 1);
    const std::string result = call();
    ::unsetenv(name);
    return result;
  };
  for (const char* name : {"XDG_RUNTIME_DIR", "CACHE_DIRECTORY", "XDG_CACHE_HOME"}) ::unsetenv(name);
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(socket_path({}), "/run/trident/tridentd.sock");
  EXPECT_EQ(with("XDG_RUNTIME_DIR", "/run/user/7", [] { return socket_path({}); }),
            "/run/user/7/trident/tridentd.sock");
  EXPECT_EQ(socket_path({.socket = "/s"}), "/s");
  EXPECT_EQ(cache_path({}), "/h/.cache/trident/kernels.db");
  EXPECT_EQ(with("XDG_CACHE_HOME", "/x", [] { return cache_path({}); }), "/x/trident/kernels.db");
  EXPECT_EQ(with("CACHE_DIRECTORY", "/var/cache/t", [] { return cache_path({}); }), "/var/cache/t/kernels.db");
  EXPECT_EQ(cache_path({.cache = "none"}), "");
}

}  // namespace
}  // namespace trident::config
