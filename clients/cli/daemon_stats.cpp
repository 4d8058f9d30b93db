#include "clients/cli/daemon_stats.h"

#include <cstring>

#include "clients/c/trident.h"

namespace trident::cli {

Error no_daemon(ErrorCode code, const char* why) {
  return make_error(code, "%s: start tridentd, or name its socket with TRIDENT_SOCKET (trident doctor tells more)",
                    why);
}

Result<std::string> daemon_stats(const std::string& socket) {
  constexpr std::uint32_t kTimeoutMs = 1000;
  trident_options options{};
  options.struct_size = sizeof options;
  options.mode = TRIDENT_MODE_DAEMON;
  options.socket_path = socket.empty() ? nullptr : socket.c_str();
  options.connect_timeout_ms = kTimeoutMs;
  trident_ctx* ctx = nullptr;
  if (trident_open(&options, &ctx) != TRIDENT_OK) return make_error(ErrorCode::kNotFound, "%s", trident_last_error());
  std::string json(64 * 1024, '\0');
  const trident_status status = trident_daemon_stats(ctx, json.data(), json.size(), kTimeoutMs);
  const std::string why = status == TRIDENT_OK ? "" : trident_last_error();
  trident_close(ctx);
  if (status == TRIDENT_E_TIMEOUT) return make_error(ErrorCode::kTimeout, "%s", why.c_str());
  if (status != TRIDENT_OK) return make_error(ErrorCode::kDisconnected, "%s", why.c_str());
  json.resize(std::strlen(json.c_str()));
  return json;
}

Result<Json> daemon_counters(const std::string& socket) {
  const auto stats = daemon_stats(socket);
  if (!stats) return no_daemon(stats.error().code, stats.error().message.c_str());
  Json parsed = Json::parse(*stats);
  if (parsed.is_object()) return parsed;
  return make_error(ErrorCode::kRejectedMessage,
                    "the daemon's counters are not JSON: the daemon may have another version");
}

}  // namespace trident::cli
