// import rubato; in place of #include <rubato/rubato.hpp>. It has no macros. docs/packages.md
module;

#include "rubato/rubato.hpp"

export module rubato;

export namespace rubato {
using rubato::address, rubato::all_of, rubato::any_of, rubato::async_barrier, rubato::async_generator,
    rubato::async_hedge, rubato::async_latch, rubato::async_lock, rubato::async_mutex, rubato::async_permits,
    rubato::async_pipeline, rubato::async_race, rubato::async_semaphore, rubato::async_shared_lock,
    rubato::async_shared_mutex, rubato::block_on, rubato::blocking, rubato::broadcast_channel,
    rubato::broadcast_receiver, rubato::buffered, rubato::buffered_base, rubato::bytes_to_fill,
    rubato::bytes_to_send, rubato::cancelled, rubato::canceller, rubato::channel, rubato::context,
    rubato::copy, rubato::copy_if, rubato::count, rubato::count_if, rubato::current_pool,
    rubato::current_worker, rubato::deterministic, rubato::deterministic_t, rubato::discard,
    rubato::discard_t, rubato::drain, rubato::drain_t, rubato::dump, rubato::enqueue, rubato::equal,
    rubato::event, rubato::exclusive_scan, rubato::exited, rubato::fill, rubato::filter, rubato::find,
    rubato::find_if, rubato::fold, rubato::for_each, rubato::for_index, rubato::for_range, rubato::for_tile,
    rubato::forget, rubato::future, rubato::generate, rubato::header_version, rubato::hedge, rubato::hedge_policy,
    rubato::hedge_policy_stats, rubato::inclusive_scan, rubato::interval, rubato::invoke, rubato::is_sorted,
    rubato::join, rubato::live_options, rubato::live_view, rubato::make_exceptional_future,
    rubato::make_ready_future, rubato::map_to_vector, rubato::max_element, rubato::membership, rubato::merge,
    rubato::min_chunk, rubato::min_element, rubato::minmax_element, rubato::mismatch, rubato::no_workers,
    rubato::no_workers_t, rubato::none_of, rubato::nth_element, rubato::parallel, rubato::parallel_t,
    rubato::partition, rubato::per_thread, rubato::per_thread_t, rubato::per_worker, rubato::pipeline,
    rubato::placement, rubato::pool, rubato::pool_options, rubato::pool_stats, rubato::priority,
    rubato::priority_stats, rubato::promise, rubato::race, rubato::race_options, rubato::race_report,
    rubato::readable, rubato::reduce, rubato::remove_if, rubato::resolve, rubato::resume_on, rubato::routine,
    rubato::scope, rubato::seat_stats, rubato::select, rubato::serial, rubato::serial_in_order,
    rubato::serial_in_order_t, rubato::serial_t, rubato::shared_future, rubato::shielded, rubato::signal_set,
    rubato::sleep_for, rubato::sleep_until, rubato::socket_base, rubato::sort, rubato::spawn,
    rubato::stable_partition, rubato::stable_sort, rubato::stage, rubato::stall_report, rubato::strand,
    rubato::stream_socket, rubato::submit, rubato::task, rubato::task_graph, rubato::task_group,
    rubato::tcp_listener, rubato::tcp_socket, rubato::this_task_stop_token, rubato::timer_handle,
    rubato::transform, rubato::transform_exclusive_scan, rubato::transform_inclusive_scan, rubato::udp_socket,
    rubato::unique, rubato::unix_listener, rubato::unix_socket, rubato::usable_cpus, rubato::version,
    rubato::version_number, rubato::watch, rubato::watch_receiver, rubato::when_all, rubato::when_any,
    rubato::when_any_result, rubato::when_first, rubato::when_some, rubato::with_async_scope,
    rubato::with_context, rubato::with_deadline, rubato::with_scope, rubato::writable, rubato::yield;

namespace trace {
using rubato::trace::snapshot, rubato::trace::span, rubato::trace::start, rubato::trace::stop;
} // namespace trace
} // namespace rubato
