#include <cstdio>

#include "cubby/config/page.h"

int main() { return std::fputs(cubby::config::ConfigurationPage().c_str(), stdout) < 0 ? 1 : 0; }
