//! How much memory this process occupies.

/// Bytes of resident memory, page tables included: a million stacks need many of those.
///
/// # Panics
///
/// If `/proc` is not there.
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc/self/status can be read");
    ["VmRSS:", "VmPTE:"].iter().map(|field| kib(&status, field) * 1024).sum()
}

/// Bytes of growth since `before`, for each of `n` things.
pub fn grown_by_each(before: u64, n: u64) -> f64 {
    (resident() as f64 - before as f64) / n as f64
}

fn kib(status: &str, field: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .and_then(|value| value.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or_else(|| panic!("/proc/self/status has no {field}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_memory_counts() {
        let before = resident();
        let memory = vec![1_u8; 8 << 20];
        assert!(grown_by_each(before, 8 << 20) > 0.8);
        drop(memory);
    }
}
