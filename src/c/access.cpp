#include "c/access.hpp"

#include "rubato/cancelled.hpp"

#include <cerrno>
#include <future>
#include <new>
#include <stdexcept>
#include <system_error>

namespace rubato::detail {

int error_of_exception() noexcept {
  try {
    throw;
  } catch (cancelled const&) {
    return -ECANCELED;
  } catch (std::future_error const&) { // a broken promise: the pool ended
    return -ECANCELED;
  } catch (std::bad_alloc const&) {
    return -ENOMEM;
  } catch (std::system_error const& e) {
    return -e.code().value(); // of std::generic_category() or the system's, which are errno
  } catch (std::out_of_range const&) {
    return -ERANGE;
  } catch (std::invalid_argument const&) {
    return -EINVAL;
  } catch (...) { // a std::logic_error of pool::configure_global(), for one
    return -EBUSY;
  }
}

} // namespace rubato::detail
