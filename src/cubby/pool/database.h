// One SQLite database that several processes share: opening it, transactions, statements, and what
// its errors mean.
#ifndef CUBBY_POOL_DATABASE_H_
#define CUBBY_POOL_DATABASE_H_

#include <stdint.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cubby {

// One use of a statement. Parameters are bound in order, columns read in order.
class Statement {
 public:
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;

  Statement& Bind(absl::string_view text);
  Statement& Bind(int64_t number);

  // Whether there is a row to read.
  absl::StatusOr<bool> Step();
  // For a statement without rows.
  absl::Status Run();

  std::string Text();
  int64_t Number();

 private:
  friend class Database;
  Statement(class Database* database, sqlite3_stmt* statement, absl::Status error);

  class Database* database_;
  sqlite3_stmt* statement_;
  absl::Status error_;
  int bound_ = 0;
  int read_ = 0;
};

class Database {
 public:
  struct Options {
    std::string path;
    std::string schema;  // makes the tables of version `version`
    int version = 1;
    absl::Status (*migrate)(Database&, int from) = nullptr;  // from an older version
    // Called before every transaction; an error stops it. A simulation lets its processes die here.
    std::function<absl::Status()> before_transaction;
  };

  // A file that is damaged, newer, or no database of ours is refused and left as it is.
  static absl::StatusOr<std::unique_ptr<Database>> Open(Options options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // All that `body` does happens or nothing; nobody else writes meanwhile, in any process. One at a
  // time; `body` must not start another.
  absl::Status Transact(const std::function<absl::Status()>& body);

  // Inside a transaction.
  Statement Prepare(absl::string_view sql);
  absl::Status Execute(const std::string& sql);

 private:
  friend class Statement;
  explicit Database(Options options) : options_(std::move(options)) {}

  absl::Status Connect();
  absl::Status CheckOrMakeSchema();
  void Keep(sqlite3_stmt* statement);
  // The status for the connection's last error.
  absl::Status Error(absl::string_view doing);

  const Options options_;
  std::mutex mutex_;
  sqlite3* connection_ = nullptr;
  std::multimap<std::string, sqlite3_stmt*> kept_;  // compiled, not in use, by their text
};

}  // namespace cubby

#endif  // CUBBY_POOL_DATABASE_H_
