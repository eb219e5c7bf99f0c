//! Jobs of all tenants that wait for one of a few connections.
//!
//! Each tenant has a line, and the lines take turns, so that a tenant with much to do waits for itself. Where all is
//! full, whoever has most waiting gives way. What waits too long is refused, and what nobody can do is refused at once. What
//! nobody waits for any more is not done.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use siglum_domain::Tenant;

use super::Unavailable;
use super::job::Job;
use super::load::Load;

/// A job that waits for so long is a reason to say that connections are short.
const SLOW: Duration = Duration::from_secs(1);
/// How often that is said.
const SAY: Duration = Duration::from_secs(30);

/// How much waits, for whom, and how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Threads that take jobs, each with a connection.
    pub(super) workers: usize,
    /// Jobs that wait, of all tenants.
    pub(super) waiting: usize,
    /// How long one waits.
    pub(super) wait: Duration,
}

impl Bounds {
    /// Jobs of one tenant that are done at once: where there are many connections, a few are left to others.
    const fn share(self) -> usize {
        self.workers - self.workers / 8
    }
}

/// Jobs that wait, and who takes them.
pub(super) struct Queue {
    bounds: Bounds,
    load: Load,
    state: Mutex<State>,
    /// There may be a job to take.
    work: Condvar,
    /// There is a job, where there was none.
    first: Condvar,
    closed: Condvar,
}

#[derive(Default)]
struct State {
    lines: HashMap<Tenant, Line>,
    /// Tenants for whom something waits. Whose turn is next is first.
    turns: VecDeque<Tenant>,
    /// Jobs that wait, in all lines.
    waiting: usize,
    /// Workers without a connection.
    broken: usize,
    /// Why no worker has one.
    down: Option<Unavailable>,
    /// Jobs that were refused since it was last said.
    refused: u64,
    said: Option<Instant>,
    is_closed: bool,
}

/// The jobs of one tenant.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    running: usize,
}

struct Waiting {
    job: Job,
    since: Instant,
}

impl Queue {
    pub(super) fn new(bounds: Bounds, load: Load) -> Self {
        Self {
            bounds,
            load,
            state: Mutex::default(),
            work: Condvar::new(),
            first: Condvar::new(),
            closed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a job wait for a connection.
    pub(super) fn push(&self, job: Job) -> Result<(), Unavailable> {
        let mut state = self.state();
        if let Some(why) = state.down.clone() {
            self.count_refused(&mut state, 1);
            return Err(why);
        }
        let mut displaced = None;
        if state.waiting >= self.bounds.waiting {
            self.count_refused(&mut state, 1);
            displaced = Some(state.displaced(&job.tenant).ok_or(Unavailable::Full)?);
        }
        if state.waiting == 0 {
            self.first.notify_one();
        }
        state.push(job);
        self.load.waiting(state.waiting);
        drop(state);
        self.work.notify_one();
        if let Some(job) = displaced {
            job.refuse(Unavailable::Full);
        }
        Ok(())
    }

    /// Waits for a job whose turn it is; nothing where the queue is closed. [`Queue::done`] must follow.
    pub(super) fn take(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            let next = state.next(self.bounds.share());
            self.load.waiting(state.waiting);
            if let Some(next) = next {
                self.load.in_use.inc();
                self.load.waited(next.since.elapsed());
                return Some(next.job);
            }
            if state.is_closed {
                return None;
            }
            let waited = self.work.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A job of this tenant was done, or could not be.
    pub(super) fn done(&self, tenant: &Tenant) {
        self.load.in_use.dec();
        self.state().done(tenant);
        // Another one of the same tenant may run now.
        self.work.notify_one();
    }

    /// A worker has lost its connection. Where none has one, nobody waits any more.
    pub(super) fn broken(&self, why: &Unavailable) {
        let mut state = self.state();
        state.broken += 1;
        if state.broken < self.bounds.workers {
            return;
        }
        tracing::error!("no connection to the store: {why}");
        state.down = Some(why.clone());
        let refused = state.drain(|_| true);
        self.count_refused(&mut state, refused.len());
        self.load.waiting(state.waiting);
        drop(state);
        for job in refused {
            job.refuse(why.clone());
        }
    }

    /// The same worker has a connection again.
    pub(super) fn mended(&self) {
        let mut state = self.state();
        state.broken -= 1;
        if state.down.take().is_some() {
            tracing::info!("the store can be reached again");
        }
    }

    /// Lets a worker without a connection pause. Tells whether it is to go on.
    pub(super) fn pause(&self, pause: Duration) -> bool {
        let state = self.state();
        let paused = self
            .closed
            .wait_timeout_while(state, pause, |state| !state.is_closed);
        let (state, _) = paused.unwrap_or_else(PoisonError::into_inner);
        !state.is_closed
    }

    /// Refuses what waits too long, and says once in a while that connections are short; until the queue is closed.
    pub(super) fn watch(&self) {
        let mut state = self.state();
        while !state.is_closed {
            let Some(first) = state.first() else {
                let waited = self.first.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let waited = first.elapsed();
            if waited >= SLOW.min(self.bounds.wait) {
                self.say(&mut state, waited);
            }
            if waited >= self.bounds.wait {
                let late = state.drain(|next| next.since.elapsed() >= self.bounds.wait);
                self.count_refused(&mut state, late.len());
                self.load.waiting(state.waiting);
                drop(state);
                for job in late {
                    job.refuse(Unavailable::Late);
                }
                state = self.state();
                continue;
            }
            let next = if waited < SLOW {
                SLOW.min(self.bounds.wait)
            } else {
                self.bounds.wait
            };
            let slept = self.first.wait_timeout(state, next.saturating_sub(waited));
            (state, _) = slept.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops the jobs that nobody waits for any more.
    pub(super) fn drop_unwanted(&self) {
        let mut state = self.state();
        let unwanted = state.drain(|next| !next.job.is_wanted());
        self.load.waiting(state.waiting);
        drop(state);
        drop(unwanted);
    }

    /// Takes no more jobs. Those that wait are done.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        for waits in [&self.work, &self.first, &self.closed] {
            waits.notify_all();
        }
    }

    fn count_refused(&self, state: &mut State, jobs: usize) {
        let jobs = jobs as u64;
        state.refused += jobs;
        self.load.refused.inc_by(jobs);
    }

    /// Says that connections are short: once in a while, and not for each request.
    fn say(&self, state: &mut State, longest: Duration) {
        if state.said.is_some_and(|at| at.elapsed() < SAY) {
            return;
        }
        let (waiting, tenants, refused) = (state.waiting, state.turns.len(), state.refused);
        let (workers, longest) = (self.bounds.workers, longest.as_millis());
        tracing::error!(
            "{waiting} requests of {tenants} tenants wait for one of {workers} connections to the store, the first one \
             for {longest} ms; {refused} were refused since this was last said; more connections: \
             `siglum serve --store-connections`"
        );
        state.said = Some(Instant::now());
        state.refused = 0;
    }
}

impl State {
    fn push(&mut self, job: Job) {
        let line = self.lines.entry(job.tenant.clone()).or_default();
        if line.waiting.is_empty() {
            self.turns.push_back(job.tenant.clone());
        }
        line.waiting.push_back(Waiting {
            job,
            since: Instant::now(),
        });
        self.waiting += 1;
    }

    /// The next job, of a tenant of which fewer than `share` are running.
    fn next(&mut self, share: usize) -> Option<Waiting> {
        loop {
            let mut turns = self.turns.iter();
            let at = turns.position(|tenant| self.lines[tenant].running < share)?;
            let tenant = self.turns.remove(at)?;
            let line = self.lines.get_mut(&tenant)?;
            let next = line.waiting.pop_front()?;
            self.waiting -= 1;
            let is_wanted = next.job.is_wanted();
            line.running += usize::from(is_wanted);
            match (line.waiting.is_empty(), is_wanted) {
                (true, _) if line.running == 0 => drop(self.lines.remove(&tenant)),
                (true, _) => {}
                (false, true) => self.turns.push_back(tenant),
                // It was no turn.
                (false, false) => self.turns.push_front(tenant),
            }
            if is_wanted {
                return Some(next);
            }
        }
    }

    fn done(&mut self, tenant: &Tenant) {
        if let Some(line) = self.lines.get_mut(tenant) {
            line.running -= 1;
            if line.running == 0 && line.waiting.is_empty() {
                self.lines.remove(tenant);
            }
        }
    }

    /// Since when the job waits that waits longest.
    fn first(&self) -> Option<Instant> {
        let firsts = self.lines.values().filter_map(|line| line.waiting.front());
        firsts.map(|first| first.since).min()
    }

    /// Takes out the last job of the tenant that has most waiting, if that is more than this one has.
    fn displaced(&mut self, by: &Tenant) -> Option<Job> {
        let own = self.lines.get(by).map_or(0, |line| line.waiting.len());
        let longest = self.turns.iter();
        let longest = longest.max_by_key(|tenant| self.lines[*tenant].waiting.len())?;
        let line = self.lines.get_mut(longest)?;
        // With one more, both would have as many.
        if line.waiting.len() <= own + 1 {
            return None;
        }
        let last = line.waiting.pop_back()?;
        self.waiting -= 1;
        Some(last.job)
    }

    /// Takes out some of what waits.
    fn drain(&mut self, is_due: impl Fn(&Waiting) -> bool) -> Vec<Job> {
        let mut drained = Vec::new();
        for line in self.lines.values_mut() {
            let all = std::mem::take(&mut line.waiting).into_iter();
            let (due, rest): (VecDeque<_>, _) = all.partition(&is_due);
            line.waiting = rest;
            drained.extend(due.into_iter().map(|next| next.job));
        }
        let lines = &mut self.lines;
        lines.retain(|_, line| line.running > 0 || !line.waiting.is_empty());
        self.turns.retain(|tenant| {
            lines
                .get(tenant)
                .is_some_and(|line| !line.waiting.is_empty())
        });
        self.waiting -= drained.len();
        drained
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::super::job::{JobOutput, JobReply};
    use super::*;

    /// Nothing that a test waits for takes so long.
    const LONG: Duration = Duration::from_secs(3600);

    fn queue(workers: usize, waiting: usize, wait: Duration) -> Queue {
        let bounds = Bounds {
            workers,
            waiting,
            wait,
        };
        Queue::new(bounds, Load::new(1))
    }

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    fn push(queue: &Queue, name: &str) -> Result<JobReply, Unavailable> {
        let (job, answer) = Job::new(&tenant(name), |_, _| ());
        queue.push(job).map(|()| answer)
    }

    #[test]
    fn a_read_that_nobody_waits_for_any_more_is_not_done() {
        let queue = queue(2, 100, LONG);
        let read = |name: &str| {
            let (job, answer) = Job::reading(&tenant(name), |_, _| ());
            queue.push(job).unwrap();
            answer
        };
        let (left, written) = (read("a"), push(&queue, "a").unwrap());
        let (only, stayed) = (read("b"), read("c"));
        drop((left, written, only));
        // Whoever writes may ask later what came of it.
        assert_eq!([take(&queue), take(&queue)], ["a", "c"]);
        assert!(!queue.state().lines.contains_key(&tenant("b")));
        let (left, written) = (read("a"), push(&queue, "a").unwrap());
        assert_eq!(queue.state().waiting, 2);
        drop((left, written, stayed));
        queue.drop_unwanted();
        assert_eq!(queue.state().waiting, 1);
    }

    /// Whose job is next.
    fn take(queue: &Queue) -> String {
        let job = queue.take().unwrap();
        job.tenant.as_str().to_owned()
    }

    #[test]
    fn a_tenant_with_a_thousand_jobs_does_not_hold_up_another_ones_only_job() {
        let queue = queue(4, 2_000, LONG);
        let many: Vec<_> = (0..1_000).map(|_| push(&queue, "a").unwrap()).collect();
        let one = push(&queue, "b").unwrap();
        assert_eq!([take(&queue), take(&queue), take(&queue)], ["a", "b", "a"]);
        drop((many, one));
    }

    #[test]
    fn a_tenant_leaves_a_few_of_many_connections_to_others() {
        let queue = queue(8, 100, LONG);
        let many: Vec<_> = (0..20).map(|_| push(&queue, "a").unwrap()).collect();
        for _ in 0..7 {
            assert_eq!(take(&queue), "a");
        }
        let one = push(&queue, "b").unwrap();
        assert_eq!(take(&queue), "b");
        queue.done(&tenant("a"));
        assert_eq!(take(&queue), "a");
        drop((many, one));
    }

    #[test]
    fn never_more_run_than_there_are_connections_and_all_are_done() {
        let queue = Arc::new(queue(3, 1_000, LONG));
        let answers: Vec<_> = (0..300)
            .map(|n| push(&queue, ["a", "b", "c", "d"][n % 4]).unwrap())
            .collect();
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    let mut most = 0_i64;
                    while let Some(job) = queue.take() {
                        most = most.max(queue.load.in_use.get());
                        let tenant = job.tenant.clone();
                        job.refuse(Unavailable::NoTenant);
                        queue.done(&tenant);
                    }
                    most
                })
            })
            .collect();
        queue.close();
        for worker in workers {
            assert!((0..=3).contains(&worker.join().unwrap()));
        }
        for answer in answers {
            let answer = answer.blocking_recv().unwrap();
            assert!(matches!(answer, Err(Unavailable::NoTenant)), "{answer:?}");
        }
        assert_eq!(queue.load.in_use.get(), 0);
        assert!(queue.state().lines.is_empty(), "what is over is let go");
    }

    #[test]
    fn where_all_is_full_whoever_has_most_gives_way() {
        let queue = queue(1, 3, LONG);
        let mut many: Vec<_> = (0..3).map(|_| push(&queue, "a").unwrap()).collect();
        let others = [push(&queue, "b").unwrap(), push(&queue, "c").unwrap()];
        for name in ["a", "b", "d"] {
            assert!(
                matches!(push(&queue, name), Err(Unavailable::Full)),
                "{name}"
            );
        }
        let answers: Vec<_> = many
            .iter_mut()
            .map(|answer| answer.try_recv().ok())
            .collect();
        let is_full = |answer: &Option<Result<JobOutput, Unavailable>>| {
            matches!(answer, Some(Err(Unavailable::Full)))
        };
        assert!(
            answers[0].is_none() && answers[1..].iter().all(is_full),
            "{answers:?}"
        );
        assert_eq!(queue.load.refused.get(), 5);
        drop(others);
    }

    #[test]
    fn what_waits_too_long_is_refused_while_all_are_busy() {
        let queue = Arc::new(queue(1, 100, Duration::from_millis(20)));
        let watched = Arc::clone(&queue);
        let watch = thread::spawn(move || watched.watch());
        let answers: Vec<_> = ["a", "a", "b"]
            .map(|name| push(&queue, name).unwrap())
            .into();
        for answer in answers {
            let answer = answer.blocking_recv().unwrap();
            assert!(matches!(answer, Err(Unavailable::Late)), "{answer:?}");
        }
        queue.close();
        watch.join().unwrap();
        assert!(
            queue.state().said.is_some(),
            "it was said that connections are short"
        );
    }

    #[test]
    fn while_no_worker_has_a_connection_nobody_waits() {
        let queue = queue(2, 100, LONG);
        let why = Unavailable::Refused("the server is away".to_owned());
        let mut waits = push(&queue, "a").unwrap();
        queue.broken(&why);
        assert!(waits.try_recv().is_err(), "another worker may do it");
        queue.broken(&why);
        let answer = waits.try_recv().unwrap();
        assert!(matches!(answer, Err(Unavailable::Refused(_))), "{answer:?}");
        assert!(matches!(push(&queue, "a"), Err(Unavailable::Refused(_))));
        queue.mended();
        assert!(push(&queue, "a").is_ok());
        assert!(queue.pause(Duration::ZERO));
        queue.close();
        assert!(!queue.pause(LONG));
    }
}
