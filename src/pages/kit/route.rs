//! A page in the list of routes.

use axum::middleware::from_fn;
use axum::routing::MethodRouter;

use crate::pages::kit::session::Needs;
use crate::pages::kit::whose::check::check;
use crate::pages::state::Pages;

/// A page: its path, what it takes to see it, and what answers.
pub struct PageRoute {
    pub path: &'static str,
    pub needs: Needs,
    /// The methods that it takes besides GET.
    pub posts: bool,
    pub handlers: MethodRouter<Pages>,
}

/// A page that is only looked at.
pub fn view(path: &'static str, needs: Needs, handlers: MethodRouter<Pages>) -> PageRoute {
    PageRoute {
        path,
        needs,
        posts: false,
        handlers: match needs.cookie() {
            Some(_) => handlers.layer(from_fn(check)),
            None => handlers,
        },
    }
}

/// A page with a form, or the place where a form is sent.
pub fn form(path: &'static str, needs: Needs, handlers: MethodRouter<Pages>) -> PageRoute {
    PageRoute {
        posts: true,
        ..view(path, needs, handlers)
    }
}
