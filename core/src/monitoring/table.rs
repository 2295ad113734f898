//! The one table of metrics. What the server describes to Prometheus and what the documentation lists
//! come from it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    /// In Markdown.
    meaning: &'static str,
}

impl Metric {
    /// The meaning as plain text.
    pub fn help(&self) -> String {
        self.meaning.replace('`', "")
    }
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    metric(name, Kind::Counter, labels, meaning)
}

const fn gauge(
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    metric(name, Kind::Gauge, labels, meaning)
}

const fn histogram(
    name: &'static str,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    metric(name, Kind::Histogram, labels, meaning)
}

const fn metric(
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    Metric {
        name,
        kind,
        labels,
        meaning,
    }
}

#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    counter("legwork_requests_total", &["method", "route", "status"], "requests answered"),
    histogram("legwork_request_seconds", &["method", "route"], "time to answer"),
    gauge("legwork_connections_open", &["transport"], "connections that are open, with `tls` or `plain`"),
    counter("legwork_connections_refused_total", &["reason"], "connections refused because too many were open: `total`, or `address` for one address alone"),
    gauge("legwork_streams_open", &[], "streams of events that are open"),
    gauge("legwork_database_up", &[], "1 if the database answered this scrape in time, 0 otherwise; then the metrics that say \"database\" are left out"),
    histogram("legwork_transaction_wait_seconds", &[], "how long transactions wait until the database takes them"),
    counter("legwork_overload_refusals_total", &[], "requests answered 503 at once because too many waited for the database or for a processor"),
    counter("legwork_mandate_refusals_total", &["reason"], "requests that the mandate of a key refused; `reason` is the field that stood in the way, `permissions` for a missing permission"),
    counter("legwork_log_failures_total", &[], "lines of the log that were lost because it could not be written in time, and writes of it that failed"),
    gauge("legwork_writer_queue", &[], "SQLite: transactions that wait for the writer"),
    histogram("legwork_writer_batch_size", &[], "transactions in one commit; on PostgreSQL, of those that share one"),
    counter("legwork_batches_dissolved_total", &[], "PostgreSQL: commits for several transactions that were tried again, without the one that failed"),
    gauge("legwork_wal_bytes", &[], "SQLite: how long the write-ahead log is, after the last checkpoint"),
    histogram("legwork_checkpoint_seconds", &[], "SQLite: time to copy what is committed from the write-ahead log into the database file"),
    gauge("legwork_pool_connections", &[], "PostgreSQL: open connections of this server"),
    gauge("legwork_pool_busy", &[], "PostgreSQL: connections in use"),
    gauge("legwork_pool_queue", &[], "PostgreSQL: transactions that wait for a connection"),
    counter("legwork_pool_retries_total", &[], "PostgreSQL: transactions that were retried"),
    counter("legwork_jobs_total", &["kind", "result"], "jobs processed; `result` is `done`, `waits` or `failed`"),
    gauge("legwork_jobs_due", &["lane"], "database: jobs that are due and not started; `lane` is `notifications` or `rest`"),
    gauge("legwork_jobs_oldest_due_seconds", &["lane"], "database: for how long the oldest of them has been due"),
    gauge("legwork_jobs_dead", &[], "database: jobs given up"),
    gauge("legwork_mails_waiting", &[], "database: mails not sent yet, retries included"),
    counter("legwork_deliveries_total", &["result"], "webhook attempts; `result` is `delivered` or `failed`"),
    histogram("legwork_delivery_seconds", &[], "duration of a webhook attempt"),
    gauge("legwork_deliveries_pending", &[], "database: webhook deliveries not made yet, retries included"),
    gauge("legwork_deliveries_oldest_seconds", &[], "database: age of the oldest of them"),
    gauge("legwork_delivery_lag_seconds", &[], "database: for how long the oldest due endpoint has waited for a server"),
    counter("legwork_request_log_dropped_total", &[], "requests that are missing in `GET /v1/logs`, because too many waited to be written or the database did not take them"),
    gauge("legwork_scheduler_lag_seconds", &[], "time since this server last had moved every task whose deadline has passed"),
    gauge("legwork_certificate_ends_seconds", &[], "when the certificate that this server serves ends, in seconds since 1970; only of one from files or from an authority"),
    gauge("legwork_disk_free_bytes", &[], "free space on the disk of the data folder"),
    gauge("legwork_disk_size_bytes", &[], "size of that disk"),
    gauge("legwork_build_info", &["version"], "always 1"),
    counter("process_cpu_seconds_total", &[], "processor time of this process"),
    gauge("process_start_time_seconds", &[], "when this process started, in seconds since 1970"),
    gauge("process_resident_memory_bytes", &[], "memory in use"),
    gauge("process_virtual_memory_bytes", &[], "address space in use"),
    gauge("process_open_fds", &[], "open files and connections"),
    gauge("process_max_fds", &[], "how many may be open"),
];

/// The table of the documentation.
pub fn markdown_table() -> String {
    let mut table = "| Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n".to_owned();
    for metric in METRICS {
        let labels: Vec<_> = metric.labels.iter().map(|l| format!("`{l}`")).collect();
        let labels = match labels.as_slice() {
            [] => String::new(),
            labels => format!("{} ", labels.join(", ")),
        };
        let (name, kind, meaning) = (metric.name, metric.kind.as_str(), metric.meaning);
        table.push_str(&format!("| `{name}` | {kind} | {labels}| {meaning} |\n"));
    }
    table
}
