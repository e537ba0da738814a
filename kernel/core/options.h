// The command line: words KEY=VALUE, separated by blanks. Read once at boot, any context after that.
#ifndef CORE_OPTIONS_H
#define CORE_OPTIONS_H

#include <stdbool.h>

void options_read(const char *command_line);
const char *option(const char *key); // its value, ends with NUL; NULL: not there
bool option_is(const char *key, const char *value);
const char *options_all(void); // the line as it was

#endif
