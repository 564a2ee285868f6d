// The algorithms have got another backend already.
#include <algorithm>
#include <execution>

#include <rubato/pstl.hpp>
// error: rubato: <execution> came before rubato/pstl.hpp: include rubato/pstl.hpp first, or link the CMake
// error: rubato/detail/base/see_the_error_above
