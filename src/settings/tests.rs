mod local;

use std::net::IpAddr;

use super::*;

fn given(
    flags: &[(&str, &str)],
    environment: &[(&str, &str)],
    file: Option<&str>,
) -> Result<Settings, String> {
    let owned = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect::<BTreeMap<_, _>>()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("legwork.toml");
    if let Some(text) = file {
        std::fs::write(&path, text).unwrap();
    }
    Given::collect(
        owned(flags),
        owned(environment),
        file.map(|_| path.as_path()),
    )
    .and_then(|given| Settings::read(&given))
    .map_err(|error| error.to_string())
}

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    let port = |flags, environment, file| given(flags, environment, file).unwrap().listen.port();
    let flag: &[_] = &[("listen", "127.0.0.1:1")];
    let variable: &[_] = &[("LEGWORK_LISTEN", "127.0.0.1:2")];
    let file = Some("listen = \"127.0.0.1:3\"");
    assert_eq!(port(flag, variable, file), 1);
    assert_eq!(port(&[], variable, file), 2);
    assert_eq!(port(&[], &[], file), 3);
    assert_eq!(port(&[], &[], None), 8080);
}

#[test]
fn every_error_names_the_setting_and_its_origin() {
    for (flags, environment, file, expected) in [
        (
            &[("listen", "nowhere")][..],
            &[][..],
            None,
            "--listen (from flag)",
        ),
        (
            &[],
            &[("LEGWORK_LISTEN", "x")],
            None,
            "LEGWORK_LISTEN (from environment)",
        ),
        (
            &[],
            &[("LEGWORK_RATE_LIMITS", "maybe")],
            None,
            "LEGWORK_RATE_LIMITS",
        ),
        (
            &[],
            &[("LEGWORK_REQUEST_LOG_DAYS", "91")],
            None,
            "LEGWORK_REQUEST_LOG_DAYS",
        ),
        (
            &[],
            &[("LEGWORK_DATABASE_URL", "mysql://x")],
            None,
            "LEGWORK_DATABASE_URL",
        ),
        (
            &[],
            &[("LEGWORK_DATABASE_URL", "")],
            None,
            "LEGWORK_DATABASE_URL",
        ),
        (
            &[],
            &[("LEGWORK_DATABASE_CONNECTIONS", "0")],
            None,
            "LEGWORK_DATABASE_CONNECTIONS",
        ),
        (
            &[],
            &[("LEGWORK_CORS_ORIGINS", "https://a.example, *")],
            None,
            "LEGWORK_CORS_ORIGINS",
        ),
        (
            &[],
            &[("LEGWORK_CORS_KEYS", "yes")],
            None,
            "LEGWORK_CORS_KEYS",
        ),
        (
            &[],
            &[("LEGWORK_MAP_TILES", "https://tiles.example.com/{z}")],
            None,
            "LEGWORK_MAP_TILES",
        ),
        (
            &[],
            &[("LEGWORK_LOG_FORMAT", "xml")],
            None,
            "LEGWORK_LOG_FORMAT",
        ),
        (&[], &[("LEGWORK_LOG", "a=b=c")], None, "LEGWORK_LOG"),
        (
            &[],
            &[("LEGWORK_PUBLIC_URL", "example.com")],
            None,
            "LEGWORK_PUBLIC_URL",
        ),
        (
            &[],
            &[("LEGWORK_WEBHOOK_RETRY_SECONDS", "60,soon")],
            None,
            "LEGWORK_WEBHOOK_RETRY_SECONDS",
        ),
        (
            &[("webhook_retry_seconds", "-1")],
            &[],
            None,
            "--webhook-retry-seconds",
        ),
        (
            &[],
            &[("LEGWORK_WEBHOOK_ALLOW_NETS", "10.0.0.0/33")],
            None,
            "LEGWORK_WEBHOOK_ALLOW_NETS",
        ),
        (
            &[],
            &[("LEGWORK_SMTP_URL", "smtp://mail")],
            None,
            "LEGWORK_MAIL_FROM",
        ),
        (
            &[],
            &[("LEGWORK_PAYMENTS", "paypal")],
            None,
            "LEGWORK_PAYMENTS",
        ),
        (
            &[],
            &[("LEGWORK_PAYMENTS", "stripe")],
            None,
            "LEGWORK_STRIPE_KEY",
        ),
        (
            &[],
            &[("LEGWORK_PAYMENTS", "stripe"), ("LEGWORK_STRIPE_KEY", "sk")],
            None,
            "LEGWORK_STRIPE_WEBHOOK_SECRET",
        ),
        (
            &[("stripe_url", "api.stripe.com")],
            &[
                ("LEGWORK_PAYMENTS", "stripe"),
                ("LEGWORK_STRIPE_KEY", "sk"),
                ("LEGWORK_STRIPE_WEBHOOK_SECRET", "whsec"),
            ],
            None,
            "--stripe-url",
        ),
        (
            &[],
            &[("LEGWORK_METRICS_LISTEN", "9090")],
            None,
            "LEGWORK_METRICS_LISTEN",
        ),
        (
            &[],
            &[("LEGWORK_ALLOW_SANDBOX", "yes")],
            None,
            "LEGWORK_ALLOW_SANDBOX",
        ),
        (
            &[],
            &[("LEGWORK_PAYOUT_HOLD_HOURS", "-1")],
            None,
            "LEGWORK_PAYOUT_HOLD_HOURS",
        ),
        (
            &[],
            &[("LEGWORK_FOUR_EYES_CENTS", "12.50")],
            None,
            "LEGWORK_FOUR_EYES_CENTS",
        ),
        (
            &[],
            &[("LEGWORK_CHECKED_SKILLS", "notary,flying")],
            None,
            "LEGWORK_CHECKED_SKILLS",
        ),
        (
            &[],
            &[("LEGWORK_MASTER_KEY", "c2hvcnQ=")],
            None,
            "LEGWORK_MASTER_KEY",
        ),
        (
            &[],
            &[("LEGWORK_STORAGE_GIGABYTES", "1,2,3")],
            None,
            "LEGWORK_STORAGE_GIGABYTES",
        ),
        (
            &[],
            &[("LEGWORK_ACME_DOMAINS", "*.example.com")],
            None,
            "LEGWORK_ACME_DOMAINS",
        ),
        (
            &[],
            &[("LEGWORK_ACME_DIRECTORY", "http://acme.example")],
            None,
            "LEGWORK_ACME_DIRECTORY",
        ),
        (
            &[],
            &[("LEGWORK_REDIRECT_LISTEN", "80")],
            None,
            "LEGWORK_REDIRECT_LISTEN",
        ),
        (
            &[],
            &[("LEGWORK_REQUIRE_SECOND_FACTOR", "admin")],
            None,
            "LEGWORK_REQUIRE_SECOND_FACTOR (from environment): must be one of: none, admins, all",
        ),
        (
            &[],
            &[("LEGWORK_TRUSTED_PROXIES", "proxy")],
            None,
            "LEGWORK_TRUSTED_PROXIES",
        ),
        (
            &[],
            &[("LEGWORK_MAX_CONNECTIONS", "1")],
            None,
            "LEGWORK_MAX_CONNECTIONS",
        ),
        (
            &[],
            &[("LEGWORK_REQUEST_SECONDS", "0")],
            None,
            "LEGWORK_REQUEST_SECONDS",
        ),
        (
            &[],
            &[("LEGWORK_DRAIN_SECONDS", "1.5")],
            None,
            "LEGWORK_DRAIN_SECONDS",
        ),
        (
            &[],
            &[("LEGWORK_TLS_CERT", "")],
            None,
            "LEGWORK_TLS_CERT (from environment): must be a path",
        ),
        (
            &[],
            &[("LEGWORK_TLS_CERT", "cert.pem")],
            None,
            "LEGWORK_TLS_KEY",
        ),
        (
            &[],
            &[("LEGWORK_TLS_KEY", "key.pem")],
            None,
            "LEGWORK_TLS_CERT",
        ),
        (
            &[],
            &[("LEGWORK_LISTN", "x")],
            None,
            "LEGWORK_LISTN (from environment) is not a setting",
        ),
        (&[], &[], Some("lisen = \"x\""), "lisen (from "),
        (&[], &[], Some("listen = [1]"), "listen must be text"),
        (&[], &[], Some("listen"), "legwork.toml"),
    ] {
        let error = given(flags, environment, file).unwrap_err();
        assert!(
            error.contains(expected),
            "{error:?} does not say {expected:?}"
        );
    }
}

#[test]
fn an_error_never_repeats_a_password() {
    let url = "mysql://legwork:hunter2@db/legwork";
    let error = given(&[], &[("LEGWORK_DATABASE_URL", url)], None).unwrap_err();
    assert!(!error.contains("hunter2"), "{error}");
    let faulty = [
        ("LEGWORK_PAYMENTS", "stripe"),
        ("LEGWORK_STRIPE_KEY", "sk_live_hunter2 "),
    ];
    let error = given(&[], &faulty, None).unwrap_err();
    assert!(!error.contains("hunter2"), "{error}");
    let stripe = [
        ("LEGWORK_PAYMENTS", "stripe"),
        ("LEGWORK_STRIPE_KEY", "sk_live_hunter2"),
        ("LEGWORK_STRIPE_WEBHOOK_SECRET", "whsec_hunter2"),
    ];
    let settings = given(&[], &stripe, None).unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn the_operator_says_how_long_everybody_has() {
    let defaults = given(&[], &[], None).unwrap().windows;
    assert_eq!(defaults, Windows::default());
    let set = [("review_days", "1"), ("work_hours", "5")];
    let windows = given(&set, &[], None).unwrap().windows;
    assert_eq!(windows.review, Duration::from_secs(24 * 60 * 60));
    assert_eq!(windows.work, Duration::from_secs(5 * 60 * 60));
    for faulty in ["0", "-1", "1.5", "soon", "", "99999999999999999999"] {
        let error = given(&[("unpaid_hours", faulty)], &[], None).unwrap_err();
        assert!(error.contains("--unpaid-hours"), "{error}");
    }
}

#[test]
fn webhooks_reach_loopback_in_local_mode_alone() {
    let loopback: IpAddr = "127.0.0.1".parse().unwrap();
    let allowed = |listen, nets| {
        let settings = given(
            &[("listen", listen), ("webhook_allow_nets", nets)],
            &[],
            None,
        );
        let allow = settings.unwrap().outbound.allow;
        (allow.iter().any(|net| net.contains(&loopback)), allow.len())
    };
    assert_eq!(allowed("127.0.0.1:8080", ""), (true, 2));
    assert_eq!(allowed("0.0.0.0:8080", ""), (false, 0));
    assert_eq!(allowed("0.0.0.0:8080", "10.1.0.0/16, 10.2.3.4"), (false, 2));
}

#[test]
fn deliveries_are_tried_again_when_the_operator_says() {
    let delays = |text| {
        let settings = given(&[("webhook_retry_seconds", text)], &[], None);
        let delays = settings.unwrap().webhook_delays;
        delays.iter().map(Duration::as_secs_f64).collect::<Vec<_>>()
    };
    assert_eq!(delays("60,480,3840"), [60.0, 480.0, 3_840.0]);
    assert_eq!(delays("0.5, 0"), [0.5, 0.0]);
}

#[test]
fn an_origin_is_what_a_browser_sends() {
    let origins = |text: &str| {
        let settings = given(&[("cors_origins", text)], &[], None);
        settings.map(|settings| settings.edge.cors_origins)
    };
    let list =
        "https://App.example.com, http://localhost:3000,https://b.example:443,http://[::1]:80";
    let expected = [
        "https://app.example.com",
        "http://localhost:3000",
        "https://b.example",
        "http://[::1]",
    ];
    assert_eq!(origins(list).unwrap(), expected);
    assert!(origins("").unwrap().is_empty());
    for wrong in [
        "*",
        "null",
        "app.example.com",
        "https://*.example.com",
        "https://app.example.com/",
        "https://app.example.com/app",
        "https://me@app.example.com",
        "http://app.example.com",
        "ftp://localhost",
        "https://",
    ] {
        assert!(origins(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_variable_that_is_not_utf8_is_refused() {
    let damaged = String::from_utf8_lossy(b"postgres://legwork:p\xe4ss@db/legwork").into_owned();
    let refused = given(&[], &[("LEGWORK_DATABASE_URL", &damaged)], None);
    let message = "LEGWORK_DATABASE_URL (from environment): must be UTF-8";
    assert_eq!(refused.unwrap_err(), message);
}

#[test]
fn a_public_url_is_a_scheme_and_a_host() {
    for wrong in [
        "https://",
        "https:// foo bar",
        "https://legwork.example:99999",
        "",
        "https://legwork.example/api",
        "https://legwork.example?a=1",
        "https://legwork.example#there",
        "https://user:password@legwork.example",
    ] {
        let read = given(&[("public_url", wrong)], &[], None);
        assert!(read.is_err(), "{wrong}");
    }
    let read = given(&[("public_url", "https://legwork.example/")], &[], None).unwrap();
    assert_eq!(read.public_url.as_deref(), Some("https://legwork.example"));
}

#[test]
fn an_empty_value_turns_nothing_off() {
    for name in ["public_url", "smtp_url", "four_eyes_cents", "master_key"] {
        let variable = variable(name);
        let error = given(&[], &[(variable.as_str(), "")], None).unwrap_err();
        assert!(
            error.contains(&variable) && error.contains("is empty"),
            "{error}"
        );
    }
}

#[test]
fn a_level_of_the_log_that_does_not_exist_is_refused() {
    for (filter, right) in [
        ("info", true),
        ("warn,legwork::jobs=debug", true),
        ("inof", false),
        ("", false),
    ] {
        let read = given(&[("log", filter)], &[], None);
        assert_eq!(read.is_ok(), right, "{filter}");
    }
}
