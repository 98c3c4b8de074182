//! A guard that cancels a context when it is dropped.

use core::fmt;

use super::Context;

/// Cancels its [`Context`] when dropped; see [`Context::drop_guard`]. Nothing here is a moving
/// call.
///
/// ```
/// use gosched::context::{DropGuard, background};
/// use gosched::{context, go, time};
/// use std::time::Duration;
///
/// let ctx = background().with_cancel();
/// let worker = context::enter(&ctx, || go(|| time::sleep(Duration::from_secs(3600))));
/// let guard: DropGuard = ctx.drop_guard();
/// // Whatever happens here, the worker ends:
/// drop(guard);
/// assert!(worker.join().unwrap().is_err());
/// ```
#[must_use = "if unused the context is cancelled at once"]
#[clippy::has_significant_drop]
pub struct DropGuard {
    /// `None` once it is disarmed.
    context: Option<Context>,
}

impl DropGuard {
    pub(super) fn new(context: Context) -> DropGuard {
        DropGuard { context: Some(context) }
    }

    /// Returns the context, which this guard no longer cancels.
    ///
    /// ```
    /// let guard = gosched::context::background().with_cancel().drop_guard();
    /// let ctx = guard.disarm();
    /// assert!(!ctx.is_cancelled());
    /// ```
    pub fn disarm(mut self) -> Context {
        self.context.take().unwrap_or_default()
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(context) = &self.context {
            context.cancel();
        }
    }
}

impl fmt::Debug for DropGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropGuard").field("context", &self.context).finish()
    }
}
