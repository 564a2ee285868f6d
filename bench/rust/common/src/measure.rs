//! Clocks, and what one measurement says.

use std::mem::MaybeUninit;

fn read_clock(id: libc::clockid_t) -> u64 {
    let mut t = MaybeUninit::<libc::timespec>::uninit();
    let t = unsafe {
        libc::clock_gettime(id, t.as_mut_ptr());
        t.assume_init()
    };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

pub fn now_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// CPU time of all threads of the process so far.
pub fn cpu_ns() -> u64 {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

pub fn sleep_ns(ns: u64) {
    std::thread::sleep(std::time::Duration::from_nanos(ns));
}

/// Computes until `ns` nanoseconds have gone by.
pub fn compute_for(ns: u64) {
    let end = now_ns() + ns;
    while now_ns() < end {}
}

/// The most memory that the process has had. (What getrusage says may be from before exec: its parent's.)
fn max_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

#[derive(Default)]
pub struct Measurement {
    pub ns: f64,
    pub cpu_ns: f64,
    pub checksum: u64,
    pub extra: Vec<(&'static str, f64)>,
}

impl Measurement {
    pub fn json(&self, contender: &str, version: &str) -> String {
        let extra: Vec<_> = self
            .extra
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value:.4}"))
            .collect();
        format!(
            "{{\"contender\":\"{contender}\",\"version\":\"{version}\",\"ns\":{:.4},\"cpu_ns\":{:.4},\
             \"max_rss_kb\":{},\"checksum\":\"{}\",\"extra\":{{{}}}}}",
            self.ns,
            self.cpu_ns,
            max_rss_kb(),
            self.checksum,
            extra.join(",")
        )
    }
}

/// Times `f` and divides by `units`.
pub fn timed(units: f64, f: impl FnOnce() -> u64) -> Measurement {
    let cpu = cpu_ns();
    let start = now_ns();
    let checksum = f();
    let end = now_ns();
    Measurement {
        ns: (end - start) as f64 / units,
        cpu_ns: (cpu_ns() - cpu) as f64 / units,
        checksum,
        extra: Vec::new(),
    }
}

/// The q-quantile (0 ... 1) by nearest rank; 0 for no values.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n => sorted[((n - 1) as f64 * q + 0.5) as usize],
    }
}
