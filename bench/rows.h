// The rows of the benchmark: each measures one promise of SPECIFICATION.md.
#ifndef CUBBY_BENCH_ROWS_H_
#define CUBBY_BENCH_ROWS_H_

#include <functional>
#include <string>
#include <vector>

#include "workshop.h"

namespace cubby::bench {

struct Figure {
  std::string ours;  // for people
  std::string peers;
  double value = 0;      // what the promise is about, in its unit
  bool measured = true;  // false: `ours` says why not
};

struct Row {
  std::string name;
  std::function<Figure(Workshop&)> measure;
};

std::vector<Row> MachineRows();
std::vector<Row> ExecRows();
std::vector<Row> FileRows();
std::vector<Row> SearchRows();

std::string Ms(double milliseconds);

}  // namespace cubby::bench

#endif  // CUBBY_BENCH_ROWS_H_
