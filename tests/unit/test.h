/* SPDX-License-Identifier: Apache-2.0 */
/* What nearly every unit test uses of the C library, and Criterion. */
#ifndef MUSTER_TESTS_UNIT_TEST_H
#define MUSTER_TESTS_UNIT_TEST_H

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#endif
