/* The whole C interface of Rubato. docs/c.md
 *
 *   #include <rubato/c/rubato.h>
 */
#ifndef RUBATO_C_RUBATO_H
#define RUBATO_C_RUBATO_H

#include "rubato/c/abi.h"
#include "rubato/c/future.h"
#include "rubato/c/join.h"
#include "rubato/c/pool.h"
#include "rubato/c/scope.h"
#include "rubato/c/sync.h"
#include "rubato/c/task.h"

#endif
