// A release of libstdc++ that the backend does not know.
#include <version>
#undef _PSTL_VERSION
#define _PSTL_VERSION 99000

#include <rubato/pstl.hpp>
// error: rubato: rubato/pstl.hpp knows the parallel algorithms of libstdc++ 12 (_PSTL_VERSION 12000)
// error: rubato/detail/base/see_the_error_above
