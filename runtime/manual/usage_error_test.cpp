#include "runtime/manual/usage_error.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace trident::manual {
namespace {

std::string said(const std::string& line) {
  CLI::App app("", "prog");
  CLI::App* verb = app.add_subcommand("verb", "");
  std::string text;
  unsigned number = 0;
  verb->add_option("--text", text, "");
  verb->add_option("--number", number, "")->check(CLI::Range(1, 9));
  unsigned count = 0;
  verb->add_option("--count", count, "");
  CLI::App* must = app.add_subcommand("must", "");
  must->add_option("WHAT", text, "")->required();
  must->add_option("--other", count, "");
  try {
    app.parse(line);
  } catch (const CLI::ParseError& error) {
    return usage_error("prog", app, error);
  }
  return "";
}

TEST(UsageError, SaysWhatIsWrongAndWhereTheHelpIs) {
  const std::string help = "\n`prog verb --help` lists what it takes.\n";
  EXPECT_EQ(said("verb --txt x"), "prog: `prog verb` has no option --txt: did you mean --text?" + help);
  EXPECT_EQ(said("verb --other"), "prog: `prog verb` has no option --other" + help);
  EXPECT_EQ(said("verb word"), "prog: 'word' is one argument too many for `prog verb`" + help);
  EXPECT_EQ(said("verb --text"), "prog: --text needs a value" + help);
  EXPECT_EQ(said("verb --number=-1"), "prog: --number: -1 is not between 1 and 9" + help);
  EXPECT_EQ(said("verb --number two"), "prog: --number: 'two' is no number from 1 to 9" + help);
  EXPECT_EQ(said("verb --text a --text b"), "prog: --text is given 2 times" + help);
  EXPECT_EQ(said("verb --count 1.5"), "prog: --count: 1.5 is no whole number" + help);
  EXPECT_EQ(said("must --othr"),
            "prog: `prog must` has no option --othr: did you mean --other?\n`prog must --help` lists what it takes.\n");
  EXPECT_EQ(said("--other"), "prog: `prog` has no option --other\n`prog --help` lists what it takes.\n");
}

}  // namespace
}  // namespace trident::manual
