#include "clients/cli/verb/row_file.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "runtime/os/regular_file.h"

namespace trident::cli {
namespace {

void give_rows(std::istream& in, const std::string& name, const TakeRow& take) {
  if (name.ends_with(".json")) return take(name, std::string(std::istreambuf_iterator<char>(in), {}));
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string::npos) take(name + ":" + std::to_string(number), line);
  }
}

}  // namespace

Result<void> for_each_row(const std::string& file, const TakeRow& take) {
  std::ifstream opened;
  if (file != "-") {
    // Checked first: opening a FIFO would wait for a writer.
    if (const auto regular = os::open_regular_file(file); regular.ok())
      opened.open(file, std::ios::binary);
    else if (regular.error().code != ErrorCode::kNotFound)
      return make_error(ErrorCode::kInvalidArgument, "%s", regular.error().message.c_str());
  }
  std::istream& in = file == "-" ? std::cin : opened;
  if (!in || in.peek() == std::ifstream::traits_type::eof())
    return make_error(ErrorCode::kInvalidArgument, "%s: there is no such file, or nothing in it", file.c_str());
  give_rows(in, file, take);
  if (in.bad()) return make_error(ErrorCode::kOsError, "%s: cannot be read", file.c_str());
  return {};
}

}  // namespace trident::cli
