// The command line: words KEY=VALUE, separated by spaces. Read once at boot; then the values may be looked up
// in any context.
#ifndef CORE_OPTIONS_H
#define CORE_OPTIONS_H

#include <stdbool.h>

void options_read(const char *command_line);
const char *option(const char *key); // its value, NUL-terminated; NULL if absent
bool option_is(const char *key, const char *value);
const char *options_all(void); // the whole line

#endif
