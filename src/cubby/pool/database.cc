#include "cubby/pool/database.h"

#include <sqlite3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/file.h"
#include "cubby/base/status_macros.h"
#include "cubby/status.h"

namespace cubby {
namespace {

// "Cubb", in the header of the file: whose database it is.
constexpr int64_t kApplicationId = 0x43756262;
constexpr int kBusyTimeoutMs = 10000;

}  // namespace

Statement::Statement(Database* database, sqlite3_stmt* statement, absl::Status error)
    : database_(database), statement_(statement), error_(std::move(error)) {}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      error_(std::move(other.error_)),
      bound_(other.bound_),
      read_(other.read_) {}

Statement::~Statement() {
  if (statement_ != nullptr) database_->Keep(statement_);
}

Statement& Statement::Bind(absl::string_view text) {
  if (error_.ok() &&
      sqlite3_bind_text(statement_, ++bound_, text.data() != nullptr ? text.data() : "",
                        static_cast<int>(text.size()), SQLITE_TRANSIENT) != 0) {
    error_ = database_->Error("bind a text");
  }
  return *this;
}

Statement& Statement::Bind(int64_t number) {
  if (error_.ok() && sqlite3_bind_int64(statement_, ++bound_, number) != SQLITE_OK) {
    error_ = database_->Error("bind a number");
  }
  return *this;
}

absl::StatusOr<bool> Statement::Step() {
  CUBBY_RETURN_IF_ERROR(error_);
  read_ = 0;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->Error("use");
}

absl::Status Statement::Run() { return Step().status(); }

std::string Statement::Text() {
  const int column = read_++;
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes == nullptr
             ? ""
             : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

int64_t Statement::Number() { return sqlite3_column_int64(statement_, read_++); }

absl::StatusOr<std::unique_ptr<Database>> Database::Open(Options options) {
  std::unique_ptr<Database> database(new Database(std::move(options)));
  // Two that switch a new file to write-ahead logging at once would find it busy without waiting.
  CUBBY_ASSIGN_OR_RETURN(const FileLock lock,
                         FileLock::Acquire(absl::StrCat(database->options_.path, ".lock")));
  CUBBY_RETURN_IF_ERROR(database->Connect());
  CUBBY_RETURN_IF_ERROR(database->CheckOrMakeSchema());
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : kept_) sqlite3_finalize(statement);
  sqlite3_close_v2(connection_);
}

absl::Status Database::Connect() {
  if (sqlite3_open_v2(options_.path.c_str(), &connection_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                      nullptr) != SQLITE_OK) {
    return Error("open");
  }
  sqlite3_extended_result_codes(connection_, 1);
  sqlite3_busy_timeout(connection_, kBusyTimeoutMs);
  if (sqlite3_db_readonly(connection_, "main") == 1) {
    return MakeError(absl::StatusCode::kPermissionDenied,
                     absl::StrCat("database ", options_.path,
                                  ": cannot be written by this user; use another --state-dir"),
                     {.path = options_.path});
  }
  return absl::OkStatus();
}

absl::Status Database::CheckOrMakeSchema() {
  // Nothing is written before it is known whose file this is.
  int64_t version = 0;
  int64_t application = 0;
  int64_t tables = 0;
  {
    Statement statement = Prepare(
        "SELECT (SELECT user_version FROM pragma_user_version),"
        " (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM "
        "sqlite_schema)");
    CUBBY_RETURN_IF_ERROR(statement.Step().status());
    version = statement.Number();
    application = statement.Number();
    tables = statement.Number();
  }
  if (tables != 0 && application != kApplicationId) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("database ", options_.path,
                                  ": is no registry of cubby; move it away, or use another "
                                  "--state-dir"),
                     {.path = options_.path});
  }
  if (version > options_.version) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     absl::StrCat("database ", options_.path, ": has version ", version,
                                  " and this cubby knows ", options_.version,
                                  "; use the newer cubby that wrote it, or another --state-dir"),
                     {.path = options_.path});
  }
  {
    Statement check = Prepare("SELECT quick_check FROM pragma_quick_check(1)");
    CUBBY_ASSIGN_OR_RETURN(const bool row, check.Step());
    if (const std::string verdict = row ? check.Text() : "no answer"; verdict != "ok") {
      return MakeError(absl::StatusCode::kDataLoss,
                       absl::StrCat("database ", options_.path, ": is damaged (", verdict,
                                    "); move it away: machines are found again without it"),
                       {.path = options_.path});
    }
  }
  CUBBY_RETURN_IF_ERROR(Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"));
  return Transact([&]() -> absl::Status {
    if (tables == 0) CUBBY_RETURN_IF_ERROR(Execute(options_.schema));
    if (tables != 0 && version < options_.version) {
      if (options_.migrate == nullptr) {
        return absl::FailedPreconditionError(absl::StrCat(
            "database ", options_.path, ": its version ", version, " is not supported any more"));
      }
      CUBBY_RETURN_IF_ERROR(options_.migrate(*this, static_cast<int>(version)));
    }
    if (tables != 0 && version == options_.version) return absl::OkStatus();
    return Execute(absl::StrCat("PRAGMA application_id=", kApplicationId,
                                "; PRAGMA user_version=", options_.version, ";"));
  });
}

absl::Status Database::Transact(const std::function<absl::Status()>& body) {
  if (options_.before_transaction != nullptr) {
    CUBBY_RETURN_IF_ERROR(options_.before_transaction());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  // IMMEDIATE: a reader that wants to write later could not wait for another writer.
  CUBBY_RETURN_IF_ERROR(Prepare("BEGIN IMMEDIATE").Run());
  absl::Status status = body();
  if (status.ok()) status = Prepare("COMMIT").Run();
  // Some errors have rolled it back already.
  if (!status.ok() && sqlite3_get_autocommit(connection_) == 0) {
    Execute("ROLLBACK").IgnoreError();
  }
  return status;
}

Statement Database::Prepare(absl::string_view sql) {
  // Compiling costs more than most statements take; the same few are used again and again.
  if (const auto kept = kept_.find(std::string(sql)); kept != kept_.end()) {
    sqlite3_stmt* statement = kept->second;
    kept_.erase(kept);
    return Statement(this, statement, absl::OkStatus());
  }
  sqlite3_stmt* statement = nullptr;
  absl::Status error;
  if (sqlite3_prepare_v3(connection_, sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    error = Error("read");
  }
  return Statement(this, statement, std::move(error));
}

void Database::Keep(sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  kept_.emplace(sqlite3_sql(statement), statement);
}

absl::Status Database::Execute(const std::string& sql) {
  if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return Error("write");
  }
  return absl::OkStatus();
}

absl::Status Database::Error(absl::string_view doing) {
  const int code = sqlite3_extended_errcode(connection_) & 0xff;
  const std::string what =
      absl::StrCat(doing, " database ", options_.path, ": ", sqlite3_errmsg(connection_));
  ErrorDetail detail{.error_number = sqlite3_system_errno(connection_), .path = options_.path};
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      detail.fate = Fate::kRetryable;
      return MakeError(absl::StatusCode::kUnavailable,
                       absl::StrCat(what, "; another process has held it for too long"), detail);
    case SQLITE_FULL:
      return MakeError(absl::StatusCode::kResourceExhausted,
                       absl::StrCat(what, "; free some space"), detail);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return MakeError(absl::StatusCode::kPermissionDenied,
                       absl::StrCat(what, "; make its folder writable, or use another --state-dir"),
                       detail);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return MakeError(absl::StatusCode::kDataLoss,
                       absl::StrCat(what, "; move it away: machines are found again without it"),
                       detail);
    case SQLITE_CONSTRAINT:
      return MakeError(absl::StatusCode::kAlreadyExists, what, detail);
    case SQLITE_IOERR:
      return MakeError(detail.error_number != 0 ? ErrnoToCode(detail.error_number)
                                                : absl::StatusCode::kUnavailable,
                       what, detail);
    default:
      return MakeError(absl::StatusCode::kInternal, what, detail);
  }
}

}  // namespace cubby
