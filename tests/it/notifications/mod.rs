//! Notices to people: e-mail to a real server, push messages to a real receiver.

mod kept;
mod mail;
mod mail_troubles;
pub mod peers;
mod push;
mod subscriptions;

fn tell(scenario: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(scenario);
}
