#include "tests/support/unpacked.h"

#include <lzma.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/base/check.h"

namespace trident::test {

std::string unpacked(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  CHECK(in.good());
  const std::string packed{std::istreambuf_iterator<char>(in), {}};
  lzma_stream stream = LZMA_STREAM_INIT;
  CHECK(lzma_stream_decoder(&stream, UINT64_MAX, 0) == LZMA_OK);
  std::string out;
  std::vector<std::uint8_t> block(1 << 18);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret code = LZMA_OK;
  while (code == LZMA_OK) {
    stream.next_out = block.data(), stream.avail_out = block.size();
    code = lzma_code(&stream, LZMA_FINISH);
    out.append(reinterpret_cast<const char*>(block.data()), block.size() - stream.avail_out);
  }
  CHECK(code == LZMA_STREAM_END);
  lzma_end(&stream);
  return out;
}

}  // namespace trident::test
