#include "cubby/pool/registry.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cubby/base/status_macros.h"

namespace cubby {
namespace {

constexpr char kSchema[] = R"sql(
  CREATE TABLE machines (
    machine_id TEXT PRIMARY KEY, sandbox_id TEXT, tenancy INTEGER NOT NULL,
    user TEXT NOT NULL, thread TEXT NOT NULL, state TEXT NOT NULL,
    backend TEXT NOT NULL, image TEXT NOT NULL,
    owner TEXT NOT NULL, owner_pid INTEGER NOT NULL, owner_start INTEGER NOT NULL,
    owner_boot TEXT NOT NULL, fence INTEGER NOT NULL, nonce TEXT NOT NULL, intent TEXT NOT NULL,
    created_ns INTEGER NOT NULL, since_ns INTEGER NOT NULL, since_boot TEXT NOT NULL,
    removal_attempts INTEGER NOT NULL, retry_at_ns INTEGER NOT NULL) WITHOUT ROWID;
  CREATE UNIQUE INDEX machines_by_sandbox ON machines (sandbox_id);
  CREATE TABLE leases (
    machine_id TEXT PRIMARY KEY, owner TEXT NOT NULL, owner_pid INTEGER NOT NULL,
    owner_start INTEGER NOT NULL, owner_boot TEXT NOT NULL, kind INTEGER NOT NULL,
    fence INTEGER NOT NULL, until_ns INTEGER NOT NULL, until_boot TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE fence (last INTEGER NOT NULL);
  INSERT INTO fence VALUES (0);
)sql";

constexpr char kColumns[] =
    "machine_id, coalesce(sandbox_id, ''), tenancy, user, thread, state, backend, image, owner,"
    " owner_pid, owner_start, owner_boot, fence, nonce, intent, created_ns, since_ns, since_boot,"
    " removal_attempts, retry_at_ns";

absl::StatusOr<MachineRow> ReadRow(Statement& statement) {
  MachineRow row;
  row.machine_id = statement.Text();
  row.sandbox_id = statement.Text();
  const int64_t tenancy = statement.Number();
  if (tenancy < 0 || tenancy > static_cast<int64_t>(Tenancy::kAnonymous)) {
    return absl::DataLossError(absl::StrCat("machine ", row.machine_id, ": tenancy ", tenancy));
  }
  row.tenancy = static_cast<Tenancy>(tenancy);
  row.identity.user = statement.Text();
  row.identity.thread = statement.Text();
  CUBBY_ASSIGN_OR_RETURN(row.state, StateNamed(statement.Text()));
  row.backend = statement.Text();
  row.image = statement.Text();
  row.owner.id = statement.Text();
  row.owner.process.pid = static_cast<pid_t>(statement.Number());
  row.owner.process.start_time = static_cast<uint64_t>(statement.Number());
  row.owner.process.boot_id = statement.Text();
  row.fence = statement.Number();
  row.nonce = statement.Text();
  row.intent = statement.Text();
  row.created = absl::FromUnixNanos(statement.Number());
  row.since = absl::Nanoseconds(statement.Number());
  row.since_boot = statement.Text();
  row.removal_attempts = statement.Number();
  row.retry_at = absl::Nanoseconds(statement.Number());
  return row;
}

absl::Status InsertRow(Database& database, const MachineRow& row) {
  return database
      .Prepare(
          "INSERT INTO machines VALUES (?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?, ?, ?,"
          " ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .Bind(row.machine_id)
      .Bind(row.sandbox_id)
      .Bind(static_cast<int64_t>(row.tenancy))
      .Bind(row.identity.user)
      .Bind(row.identity.thread)
      .Bind(StateName(row.state))
      .Bind(row.backend)
      .Bind(row.image)
      .Bind(row.owner.id)
      .Bind(row.owner.process.pid)
      .Bind(static_cast<int64_t>(row.owner.process.start_time))
      .Bind(row.owner.process.boot_id)
      .Bind(row.fence)
      .Bind(row.nonce)
      .Bind(row.intent)
      .Bind(absl::ToUnixNanos(row.created))
      .Bind(absl::ToInt64Nanoseconds(row.since))
      .Bind(row.since_boot)
      .Bind(row.removal_attempts)
      .Bind(absl::ToInt64Nanoseconds(row.retry_at))
      .Run();
}

}  // namespace

absl::StatusOr<std::shared_ptr<Database>> Registry::OpenDatabase(
    const std::string& path, std::function<absl::Status()> before_transaction) {
  return Database::Open({.path = path,
                         .schema = kSchema,
                         .version = 1,
                         .before_transaction = std::move(before_transaction)});
}

absl::StatusOr<std::optional<MachineRow>> Registry::View::FindBy(absl::string_view column,
                                                                 absl::string_view value) {
  Statement statement =
      database_.Prepare(absl::StrCat("SELECT ", kColumns, " FROM machines WHERE ", column, "=?"));
  CUBBY_ASSIGN_OR_RETURN(const bool found, statement.Bind(value).Step());
  if (!found) return std::optional<MachineRow>();
  CUBBY_ASSIGN_OR_RETURN(MachineRow row, ReadRow(statement));
  return std::optional<MachineRow>(std::move(row));
}

absl::StatusOr<std::optional<MachineRow>> Registry::View::Find(absl::string_view machine_id) {
  return FindBy("machine_id", machine_id);
}

absl::StatusOr<std::optional<MachineRow>> Registry::View::FindSandbox(
    absl::string_view sandbox_id) {
  return FindBy("sandbox_id", sandbox_id);
}

absl::StatusOr<std::vector<MachineRow>> Registry::View::List() {
  Statement statement = database_.Prepare(
      absl::StrCat("SELECT ", kColumns, " FROM machines ORDER BY since_ns, machine_id"));
  std::vector<MachineRow> rows;
  while (true) {
    CUBBY_ASSIGN_OR_RETURN(const bool more, statement.Step());
    if (!more) return rows;
    CUBBY_ASSIGN_OR_RETURN(MachineRow row, ReadRow(statement));
    rows.push_back(std::move(row));
  }
}

absl::Status Registry::View::Insert(const MachineRow& row) {
  if (row.machine_id.empty()) return absl::InvalidArgumentError("a machine needs an id");
  return InsertRow(database_, row);
}

absl::StatusOr<MachineRow> Registry::View::ForWriting(absl::string_view machine_id, int64_t fence) {
  CUBBY_ASSIGN_OR_RETURN(std::optional<MachineRow> row, Find(machine_id));
  if (!row.has_value()) {
    return absl::NotFoundError(absl::StrCat("machine ", machine_id, " is not on record"));
  }
  if (row->fence > fence) {
    return absl::AbortedError(absl::StrCat("machine ", machine_id, " has passed to owner ",
                                           row->owner.id, " (fence ", row->fence, ", ours ", fence,
                                           ")"));
  }
  return *std::move(row);
}

absl::Status Registry::View::Update(const MachineRow& row) {
  CUBBY_ASSIGN_OR_RETURN(const MachineRow old, ForWriting(row.machine_id, row.fence));
  if (row.state != old.state) CUBBY_RETURN_IF_ERROR(CheckMove(old.state, row.state));
  if (old.tenancy != Tenancy::kNobody &&
      (row.tenancy != old.tenancy || row.identity != old.identity ||
       row.sandbox_id != old.sandbox_id)) {
    return absl::FailedPreconditionError(
        absl::StrCat("machine ", row.machine_id, " is another tenant's for ever"));
  }
  // Not REPLACE: that would also remove another machine of the same sandbox.
  CUBBY_RETURN_IF_ERROR(
      database_.Prepare("DELETE FROM machines WHERE machine_id=?").Bind(row.machine_id).Run());
  return InsertRow(database_, row);
}

absl::Status Registry::View::Erase(absl::string_view machine_id, int64_t fence) {
  CUBBY_ASSIGN_OR_RETURN(const MachineRow old, ForWriting(machine_id, fence));
  CUBBY_RETURN_IF_ERROR(CheckMove(old.state, MachineState::kGone));
  return database_.Prepare("DELETE FROM machines WHERE machine_id=?").Bind(machine_id).Run();
}

absl::Status Registry::Transact(const std::function<absl::Status(View&)>& body) {
  return database_->Transact([&] {
    View view(*database_);
    return body(view);
  });
}

absl::StatusOr<std::optional<MachineRow>> Registry::Find(absl::string_view machine_id) {
  std::optional<MachineRow> row;
  CUBBY_RETURN_IF_ERROR(Transact([&](View& view) -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(row, view.Find(machine_id));
    return absl::OkStatus();
  }));
  return row;
}

absl::StatusOr<std::optional<MachineRow>> Registry::FindSandbox(absl::string_view sandbox_id) {
  std::optional<MachineRow> row;
  CUBBY_RETURN_IF_ERROR(Transact([&](View& view) -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(row, view.FindSandbox(sandbox_id));
    return absl::OkStatus();
  }));
  return row;
}

absl::StatusOr<std::vector<MachineRow>> Registry::List() {
  std::vector<MachineRow> rows;
  CUBBY_RETURN_IF_ERROR(Transact([&](View& view) -> absl::Status {
    CUBBY_ASSIGN_OR_RETURN(rows, view.List());
    return absl::OkStatus();
  }));
  return rows;
}

}  // namespace cubby
