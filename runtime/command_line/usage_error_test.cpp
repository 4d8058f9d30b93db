#include "runtime/command_line/usage_error.h"

#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

namespace trident::command_line {
namespace {

std::string said(const std::string& line) {
  Application app("", "prog");
  app.command().require_subcommand();
  const Command verb = app.command().add_subcommand("verb", "");
  std::string text;
  std::uint64_t number = 0, count = 0;
  verb.add_option("--text", text, "");
  verb.add_option("--number", number, "").check(range(1, 9));
  verb.add_option("--count", count, "");
  const Command must = app.command().add_subcommand("must", "");
  must.add_option("WHAT", text, "").required();
  must.add_option("--other", count, "");
  std::istringstream stream(line);
  const Parsed parsed = app.parse(std::vector<std::string>(std::istream_iterator<std::string>(stream), {}));
  EXPECT_EQ(parsed.outcome, Parsed::Outcome::refused);
  return usage_error("prog", app.command(), parsed.text);
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
  EXPECT_EQ(said(""), "prog: a verb is missing\n`prog --help` lists what it takes.\n");
  EXPECT_EQ(said("--other"), "prog: `prog` has no option --other\n`prog --help` lists what it takes.\n");
}

}  // namespace
}  // namespace trident::command_line
