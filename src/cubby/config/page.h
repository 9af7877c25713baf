// docs/configuration.md, made from the table.
#ifndef CUBBY_CONFIG_PAGE_H_
#define CUBBY_CONFIG_PAGE_H_

#include <string>

namespace cubby::config {

std::string ConfigurationPage();

}  // namespace cubby::config

#endif  // CUBBY_CONFIG_PAGE_H_
