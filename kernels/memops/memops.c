// The operations of memops.h at the four LMULs; their code is in memops_lmul.h.

#include "memops.h"

#include <riscv_vector.h>

#define LMUL 1
#define RATIO 8
#define FIELDS 8
#include "memops_lmul.h"

#define LMUL 2
#define RATIO 4
#define FIELDS 4
#include "memops_lmul.h"

#define LMUL 4
#define RATIO 2
#define FIELDS 2
#include "memops_lmul.h"

#define LMUL 8
#define RATIO 1
#define FIELDS 0
#include "memops_lmul.h"
