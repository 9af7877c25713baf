// Every machine of the pool, on disk before it exists and until it is seen gone.
//
// Rows are written under the fencing number of a lease: a writer whose lease has passed to somebody
// else since is refused, however late he comes.
#ifndef CUBBY_POOL_REGISTRY_H_
#define CUBBY_POOL_REGISTRY_H_

#include <stdint.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cubby/pool/database.h"
#include "cubby/pool/identity.h"
#include "cubby/pool/machine_state.h"
#include "cubby/pool/owner.h"

namespace cubby {

// For whom a machine is.
enum class Tenancy {
  kNobody,     // a blank
  kThread,     // an identity, for ever
  kAnonymous,  // whoever acquired it, once
};

struct MachineRow {
  std::string machine_id;
  std::string sandbox_id;  // empty for a blank
  Tenancy tenancy = Tenancy::kNobody;
  Identity identity;  // of tenancy kThread
  MachineState state = MachineState::kCreating;
  std::string backend;
  std::string image;
  Owner owner;             // who may park and remove it
  int64_t fence = 0;       // of the lease under which the row was written last
  std::string nonce;       // what the machine itself carries: the proof that it is this one
  std::string intent;      // what is being done with it and why, for people and for recovery
  absl::Time created;      // for people
  absl::Duration since;    // monotonic, in the boot of `since_boot`: when the state began
  std::string since_boot;  // ages do not reach over a boot
  int64_t removal_attempts = 0;
  absl::Duration retry_at;  // monotonic: a failed removal is not tried again before

  friend bool operator==(const MachineRow&, const MachineRow&) = default;
};

class Registry {
 public:
  // The tables of registry and leases in one file.
  static absl::StatusOr<std::shared_ptr<Database>> OpenDatabase(
      const std::string& path, std::function<absl::Status()> before_transaction = nullptr);

  explicit Registry(std::shared_ptr<Database> database) : database_(std::move(database)) {}

  // What a transaction may do.
  class View {
   public:
    absl::StatusOr<std::optional<MachineRow>> Find(absl::string_view machine_id);
    absl::StatusOr<std::optional<MachineRow>> FindSandbox(absl::string_view sandbox_id);
    // By time of the present state, oldest first.
    absl::StatusOr<std::vector<MachineRow>> List();
    // ALREADY_EXISTS when the machine's or the sandbox's id is taken.
    absl::Status Insert(const MachineRow& row);
    // Takes over `row`'s fields for its machine, whose state may only move as CheckMove permits.
    // ABORTED when the row was written under a later fence; NOT_FOUND when there is none;
    // ALREADY_EXISTS when the sandbox's id is taken.
    absl::Status Update(const MachineRow& row);
    // The machine has been seen gone. The same errors.
    absl::Status Erase(absl::string_view machine_id, int64_t fence);

   private:
    friend class Registry;
    explicit View(Database& database) : database_(database) {}
    absl::StatusOr<std::optional<MachineRow>> FindBy(absl::string_view column,
                                                     absl::string_view value);
    absl::StatusOr<MachineRow> ForWriting(absl::string_view machine_id, int64_t fence);
    Database& database_;
  };

  // All of `body` or nothing, alone in all processes.
  absl::Status Transact(const std::function<absl::Status(View&)>& body);

  absl::StatusOr<std::optional<MachineRow>> Find(absl::string_view machine_id);
  absl::StatusOr<std::optional<MachineRow>> FindSandbox(absl::string_view sandbox_id);
  absl::StatusOr<std::vector<MachineRow>> List();

 private:
  const std::shared_ptr<Database> database_;
};

}  // namespace cubby

#endif  // CUBBY_POOL_REGISTRY_H_
