//! Which processes are below another one.

/// Those below one, with when each started, of all processes: number, parent, start. At most so many.
pub(crate) fn below(all: &[(u32, u32, u64)], top: u32, most: usize) -> Vec<(u32, u64)> {
    let mut found: Vec<(u32, u64)> = Vec::new();
    let mut above = vec![top];
    while let Some(parent) = above.pop() {
        for (pid, _, start) in all.iter().filter(|(_, p, _)| *p == parent) {
            if found.len() < most && *pid != top && found.iter().all(|(known, _)| known != pid) {
                found.push((*pid, *start));
                above.push(*pid);
            }
        }
    }
    found
}
