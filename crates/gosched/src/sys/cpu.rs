//! How many CPUs this process may use (S6): those of the affinity mask, or fewer by the cgroup CPU
//! quota (v1 and v2).

use std::fs;
use std::path::{Path, PathBuf};

/// The CPU that this thread ran on a moment ago.
pub(crate) fn current() -> u32 {
    // SAFETY: has no precondition. A kernel without the call gives -1, the same for all threads.
    unsafe { libc::sched_getcpu() }.cast_unsigned()
}

/// Binds all threads of the process, and those that they will start, to one CPU.
#[cfg(test)]
pub(crate) fn use_only_one() {
    // SAFETY: cpu_set_t is plain data, for which all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: the number is that of a CPU, so it is within the set.
    unsafe { libc::CPU_SET(current() as usize, &mut set) };
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let tid = task.unwrap().file_name().to_str().unwrap().parse().unwrap();
        // SAFETY: the size given is the set's size.
        assert_eq!(unsafe { libc::sched_setaffinity(tid, size_of_val(&set), &set) }, 0);
    }
}

/// The CPUs in the affinity mask, but no more than the cgroup quota, rounded up; at least 1.
pub(crate) fn usable() -> usize {
    let mask = in_affinity_mask().unwrap_or(1);
    match cgroup_quota(Path::new("/proc/self/cgroup"), Path::new("/sys/fs/cgroup")) {
        Some(quota) => mask.min(quota).max(1),
        None => mask.max(1),
    }
}

/// CPUs in the affinity mask of the process's first thread: a library is often started from a
/// thread that someone pinned.
fn in_affinity_mask() -> Option<usize> {
    // SAFETY: cpu_set_t is plain data, for which all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
    // SAFETY: the size given is the set's size; the process's own id names its first thread.
    let rc = unsafe { libc::sched_getaffinity(libc::getpid(), size_of_val(&set), &mut set) };
    if rc != 0 {
        // More CPUs than the set holds, or no permission to ask: let std try.
        return std::thread::available_parallelism().ok().map(usize::from);
    }
    // SAFETY: the set was filled in above.
    usize::try_from(unsafe { libc::CPU_COUNT(&set) }).ok()
}

/// The smallest quota on the way from this process's cgroup to the root, in whole CPUs, rounded up.
fn cgroup_quota(membership: &Path, mount: &Path) -> Option<usize> {
    let text = fs::read_to_string(membership).ok()?;
    text.lines().filter_map(|line| quota_of_entry(line, mount)).min()
}

/// One line of `/proc/self/cgroup`: `0::/path` for v2, `4:cpu,cpuacct:/path` for v1.
fn quota_of_entry(line: &str, mount: &Path) -> Option<usize> {
    let mut parts = line.splitn(3, ':');
    let (hierarchy, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    if hierarchy == "0" && controllers.is_empty() {
        return smallest_on_the_way(mount, path, quota_v2);
    }
    if !controllers.split(',').any(|c| c == "cpu") {
        return None;
    }
    // Distributions mount the v1 controller as `cpu`, `cpu,cpuacct` or `cpuacct,cpu`.
    [controllers, "cpu", "cpu,cpuacct", "cpuacct,cpu"]
        .iter()
        .map(|name| mount.join(name))
        .find(|dir| dir.is_dir())
        .and_then(|dir| smallest_on_the_way(&dir, path, quota_v1))
}

fn smallest_on_the_way(mount: &Path, path: &str, read: fn(&Path) -> Option<usize>) -> Option<usize> {
    let mut dir: PathBuf = mount.join(path.trim_start_matches('/'));
    let mut smallest = None;
    // Inside a container the path may not exist below the mount: then only the mount's root is
    // found, which is ours.
    while dir.starts_with(mount) {
        smallest = [smallest, read(&dir)].into_iter().flatten().min();
        if !dir.pop() {
            break;
        }
    }
    smallest
}

fn quota_v2(dir: &Path) -> Option<usize> {
    let text = fs::read_to_string(dir.join("cpu.max")).ok()?;
    let mut parts = text.split_whitespace();
    let quota = parts.next()?.parse().ok()?; // "max" does not parse: no quota
    whole_cpus(quota, parts.next()?.parse().ok()?)
}

fn quota_v1(dir: &Path) -> Option<usize> {
    let read = |name: &str| -> Option<i64> { fs::read_to_string(dir.join(name)).ok()?.trim().parse().ok() };
    let quota = u64::try_from(read("cpu.cfs_quota_us")?).ok()?; // -1: no quota
    whole_cpus(quota, u64::try_from(read("cpu.cfs_period_us")?).ok()?)
}

fn whole_cpus(quota: u64, period: u64) -> Option<usize> {
    if quota == 0 || period == 0 {
        return None;
    }
    usize::try_from(quota.div_ceil(period)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory below the system's temporary one, removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let dir = std::env::temp_dir().join(format!("gosched-cgroup-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn quota(&self) -> Option<usize> {
            cgroup_quota(&self.0.join("membership"), &self.0.join("fs"))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// S6: a v2 quota of 1.5 CPUs lets two Ps work; the smallest on the way to the root counts.
    #[test]
    fn v2_quota_rounds_up_and_the_smallest_ancestor_wins() {
        let s = Scratch::new("v2");
        s.file("membership", "0::/a/b\n");
        s.file("fs/a/b/cpu.max", "400000 100000\n");
        s.file("fs/a/cpu.max", "150000 100000\n");
        assert_eq!(s.quota(), Some(2));
    }

    /// S6: "max" is no quota.
    #[test]
    fn v2_without_quota() {
        let s = Scratch::new("v2max");
        s.file("membership", "0::/\n");
        s.file("fs/cpu.max", "max 100000\n");
        assert_eq!(s.quota(), None);
    }

    /// S6: v1's quota, below a combined mount; -1 is no quota.
    #[test]
    fn v1_quota() {
        let s = Scratch::new("v1");
        s.file("membership", "4:cpu,cpuacct:/job\n3:memory:/job\n");
        s.file("fs/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
        s.file("fs/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
        s.file("fs/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        s.file("fs/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        assert_eq!(s.quota(), Some(3));
    }

    /// S6: a container sees a path that does not exist below its own mount.
    #[test]
    fn path_outside_the_mount_falls_back_to_its_root() {
        let s = Scratch::new("container");
        s.file("membership", "0::/docker/0123\n");
        s.file("fs/cpu.max", "50000 100000\n");
        assert_eq!(s.quota(), Some(1));
    }
}
