//! Every setting, once.

/// A setting. Its flag, its environment variable and its line in the file have the same name.
pub struct Setting {
    /// As in the file: `database_url` is LEGWORK_DATABASE_URL and --database-url.
    pub name: &'static str,
    pub value_name: &'static str,
    pub help: &'static str,
}

const fn setting(name: &'static str, value_name: &'static str, help: &'static str) -> Setting {
    Setting {
        name,
        value_name,
        help,
    }
}

/// All settings.
pub const SETTINGS: &[Setting] = &[
    setting(
        "listen",
        "ADDRESS",
        "Address to listen on [default: 127.0.0.1:8080]. A loopback address enables local mode, unless a public URL is set",
    ),
    setting(
        "data",
        "FOLDER",
        "Folder for the SQLite database and stored files [default: ./legwork-data]",
    ),
    setting(
        "database_url",
        "URL",
        "PostgreSQL URL (postgres://...) [default: SQLite in the data folder]",
    ),
    setting(
        "database_connections",
        "NUMBER",
        "Number of PostgreSQL connections [default: 16]",
    ),
    setting(
        "files_url",
        "URL",
        "Where files are stored: file: (in the data folder) or s3://bucket/prefix [default: file:]",
    ),
    setting(
        "public_url",
        "URL",
        "Public URL of the service [default: http://<listen>]",
    ),
    setting(
        "metrics_listen",
        "ADDRESS",
        "Address for Prometheus metrics at /metrics [default: none; in local mode the main address]",
    ),
    setting(
        "webhook_retry_seconds",
        "SECONDS,...",
        "Delays between the attempts of a webhook delivery, comma-separated [default: 60,480,3840]",
    ),
    setting(
        "webhook_allow_nets",
        "NET,...",
        "Private networks that webhooks may reach, comma-separated, such as 10.1.0.0/16 [default: none; loopback in local mode]",
    ),
    setting(
        "webhook_ca_file",
        "FILE",
        "PEM file with certificate authorities that webhooks trust in addition to the system's [default: none]",
    ),
    setting(
        "smtp_url",
        "URL",
        "Mail server: smtp://user:password@host:587 or smtps://... [default: none; notifications stay in the database]",
    ),
    setting(
        "mail_from",
        "ADDRESS",
        "Sender of e-mails, required with a mail server: Legwork <notices@example.com>",
    ),
    setting(
        "unpaid_hours",
        "HOURS",
        "Time to pay for a task [default: 24]",
    ),
    setting(
        "start_hours",
        "HOURS",
        "Time for a worker to start an accepted task [default: 24]",
    ),
    setting(
        "work_hours",
        "HOURS",
        "Time for a worker to submit proof, or new proof after a rejection [default: 72]",
    ),
    setting(
        "review_days",
        "DAYS",
        "Time for a developer to review proof, after which it counts as approved [default: 7]",
    ),
    setting(
        "dispute_hours",
        "HOURS",
        "Time for a worker to dispute a rejection [default: 72]",
    ),
    setting(
        "decide_days",
        "DAYS",
        "Time for admins to decide a dispute, after which the developer is refunded [default: 30]",
    ),
    setting(
        "open_days",
        "DAYS",
        "Time until a task without a deadline expires, from its funding [default: 30]",
    ),
    setting(
        "upload_grace_hours",
        "HOURS",
        "How much longer a worker has who is sending a file when the time is over [default: 6]",
    ),
    setting(
        "payments",
        "sandbox|stripe",
        "Payment processor: the built-in sandbox, which moves no money, or Stripe [default: sandbox]",
    ),
    setting(
        "stripe_key",
        "KEY",
        "Secret key of the Stripe account (sk_...)",
    ),
    setting(
        "stripe_webhook_secret",
        "SECRET",
        "Secrets of the Stripe webhook endpoints at <public URL>/hooks/stripe (whsec_...), comma-separated",
    ),
    setting(
        "stripe_url",
        "URL",
        "URL of Stripe's API [default: https://api.stripe.com]",
    ),
    setting(
        "allow_sandbox",
        "on|off",
        "Start with the sandbox as payment processor on a public URL [default: off]",
    ),
    setting(
        "payout_hold_hours",
        "HOURS",
        "Time between an approval and the payout [default: 0]",
    ),
    setting(
        "four_eyes_cents",
        "CENTS",
        "Write-offs, and disputes that pay a worker more than this, need a second admin [default: none]",
    ),
    setting(
        "document_days",
        "DAYS",
        "Time until identity documents and selfies are deleted, from the decision on them [default: 90]",
    ),
    setting(
        "checked_skills",
        "SKILL,...",
        "Skills of workers that count only when an admin has confirmed them, comma-separated [default: notary]",
    ),
    setting(
        "master_key",
        "KEY",
        "Key that seals secrets in the database, 32 bytes in base64 [default: the file master.key in the data folder]",
    ),
    setting(
        "storage_gigabytes",
        "NUMBER,...",
        "Gigabytes of stored proofs for an account of each tier: free, growth, pro, enterprise [default: 5,50,500,5000]",
    ),
    setting(
        "require_second_factor",
        "none|admins|all",
        "Who needs a second factor: nobody, admins, or everybody [default: none]",
    ),
    setting(
        "map_tiles",
        "TEMPLATE",
        "Tiles under the maps of the pages: a URL with {z}, {x} and {y}, a space, and the attribution [default: none]",
    ),
    setting(
        "tls_cert",
        "FILE",
        "PEM file with the certificate chain for HTTPS, read again when it changes [default: none; plain HTTP]",
    ),
    setting(
        "tls_key",
        "FILE",
        "PEM file with the private key of the certificate",
    ),
    setting(
        "acme_domains",
        "NAME,...",
        "Host names to get certificates for, comma-separated [default: none]",
    ),
    setting(
        "acme_email",
        "ADDRESS",
        "Address that the certificate authority may write to [default: none]",
    ),
    setting(
        "acme_directory",
        "URL",
        "Directory of the certificate authority [default: Let's Encrypt]",
    ),
    setting(
        "redirect_listen",
        "ADDRESS",
        "Address that answers plain HTTP with a redirect to HTTPS [default: none]",
    ),
    setting(
        "trusted_proxies",
        "NET,...",
        "Networks of proxies whose X-Forwarded-For and Forwarded headers are believed, comma-separated [default: none]",
    ),
    setting(
        "cors_origins",
        "ORIGIN,...",
        "Web pages of other hosts that may call the API, comma-separated, such as https://app.example.com [default: none]",
    ),
    setting(
        "cors_keys",
        "on|off",
        "API keys in requests of web pages of other hosts [default: off]",
    ),
    setting(
        "max_connections",
        "NUMBER",
        "Connections that may be open at once [default: 10000]",
    ),
    setting(
        "request_seconds",
        "SECONDS",
        "Time that a request may wait for the database [default: 10]",
    ),
    setting(
        "drain_seconds",
        "SECONDS",
        "Time for which /readyz answers 503 before the server stops accepting connections [default: 0]",
    ),
    setting("rate_limits", "on|off", "Rate limits [default: on]"),
    setting(
        "request_log_days",
        "DAYS",
        "How long GET /v1/logs shows what accounts asked; 0 turns it off [default: 7]",
    ),
    setting(
        "log",
        "FILTER",
        "Log level (error, warn, info, debug) or a filter such as legwork=debug [default: info]",
    ),
    setting(
        "log_format",
        "text|json",
        "Log format [default: text on a terminal, json otherwise]",
    ),
];
