//! The provider `aws` against moto, an implementation of the API, and against servers that misbehave.
//!
//! moto is installed on the first run, into the target directory. It is skipped where Python or the network is missing;
//! with `CI` or `ENCAMP_REQUIRE_MOTO` in the environment that is a failure.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::aws_support::memory::Memory;
use crate::aws_support::{Canned, moto, serve};
use aws_sdk_autoscaling::Client;
use aws_sdk_autoscaling::config::{BehaviorVersion, Credentials, Region};
use encamp_autoscale::driver::{Autoscaler, Clock, Settings};
use encamp_autoscale::notify::Nobody;
use encamp_autoscale::params::ProviderKind;
use encamp_autoscale::provider::aws::{Aws, AwsSettings};
use encamp_autoscale::provider::{GroupId, Provider, ProviderError, ScalingGroup};
use encamp_autoscale::status::{Action, PoolStatus};
use encamp_telemetry::Metrics;

const WEB: GroupId<'static> = GroupId { pool: "web", region: "eu-west-1" };
/// The URL of moto for the part that runs in a process of its own.
const CHILD: &str = "ENCAMP_AWS_CHILD";

fn keys() -> Option<(String, encamp_model::SecretString)> {
    Some(("AKIDEXAMPLE".into(), "secret".into()))
}

fn aws(url: &str) -> Aws {
    Aws::with(AwsSettings { endpoint: Some(url.into()), keys: keys(), timeout: None })
}

/// Makes the group `web` with two instances and room for four.
async fn make_group(url: &str) {
    let config = aws_sdk_autoscaling::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(WEB.region))
        .endpoint_url(url)
        .http_client(encamp_autoscale::provider::aws::http_client())
        .credentials_provider(Credentials::new("AKIDEXAMPLE", "secret", None, None, "test"))
        .build();
    let client = Client::from_conf(config);
    let configuration = client.create_launch_configuration().launch_configuration_name("small");
    configuration.image_id("ami-12c6146b").instance_type("t2.micro").send().await.expect("a launch configuration");
    let group = client.create_auto_scaling_group().auto_scaling_group_name(WEB.pool);
    let group = group.launch_configuration_name("small").availability_zones("eu-west-1a");
    group.min_size(1).max_size(4).desired_capacity(2).send().await.expect("a group");
}

fn ids(group: &ScalingGroup) -> Vec<String> {
    group.active().map(|i| i.id.clone()).collect()
}

#[tokio::test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
async fn groups_of_moto() {
    let Some(moto) = moto() else { return };
    let aws = aws(&moto.url);
    let unknown = aws.group(WEB).await;
    assert_eq!(unknown, Err(ProviderError::NoGroup("web is not in eu-west-1".into())));
    let none = Err(ProviderError::NoGroup("web is not in eu-west-1".into()));
    assert_eq!(aws.set_desired(WEB, 2).await, none);
    assert_eq!(aws.terminate(WEB, "i-1", true).await, none);
    assert_eq!(aws.detach(WEB, "i-1").await, none);

    make_group(&moto.url).await;
    let group = aws.group(WEB).await.expect("the group");
    let before = ids(&group);
    assert_eq!((group.desired, group.min, group.max, before.len()), (2, 1, 4, 2));
    let elsewhere = aws.group(GroupId { region: "us-east-1", ..WEB }).await;
    assert_eq!(elsewhere, Err(ProviderError::NoGroup("web is not in us-east-1".into())));

    aws.set_desired(WEB, 4).await.expect("more");
    let group = aws.group(WEB).await.expect("the group");
    let four = ids(&group);
    assert_eq!((group.desired, four.len()), (4, 4));
    assert!(before.iter().all(|id| group.has(id)));
    let bounds = ProviderError::Failed("a desired size of 5 is not within 1 and 4".into());
    assert_eq!(aws.set_desired(WEB, 5).await, Err(bounds));

    // Without decrement another one takes its place.
    aws.terminate(WEB, &four[0], false).await.expect("termination");
    let group = aws.group(WEB).await.expect("the group");
    assert!(!group.has(&four[0]) && group.desired == 4 && ids(&group).len() == 4, "{group:?}");

    aws.terminate(WEB, &four[1], true).await.expect("termination");
    let group = aws.group(WEB).await.expect("the group");
    assert!(!group.has(&four[1]) && group.desired == 3 && ids(&group).len() == 3, "{group:?}");

    aws.detach(WEB, &four[2]).await.expect("detachment");
    let group = aws.group(WEB).await.expect("the group");
    assert!(!group.has(&four[2]) && group.desired == 2 && ids(&group).len() == 2, "{group:?}");

    let stranger = ProviderError::Failed("i-0123 is not an instance of the scaling group web".into());
    assert_eq!(aws.terminate(WEB, "i-0123", true).await, Err(stranger));
    assert_eq!(aws.group(WEB).await.expect("the group").desired, 2);

    // The usual environment is enough: a process of its own has it.
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program);
    child
        .args(["--exact", "aws::the_environment_is_enough", "--nocapture"])
        .env(CHILD, "1")
        .env("HOME", "/nonexistent");
    child.env("AWS_ENDPOINT_URL", &moto.url).env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    let ran = child.env("AWS_SECRET_ACCESS_KEY", "secret").output().expect("this program");
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("the group has 2 instances"), "{told}");
}

/// The loop over pools with the group of moto behind it: it grows to its bound, replaces an instance that does not
/// join, and shrinks to its other bound.
#[tokio::test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
async fn the_loop_scales_a_group_of_moto() {
    let Some(moto) = moto() else { return };
    make_group(&moto.url).await;
    let aws = Arc::new(aws(&moto.url));
    let group = async || aws.group(WEB).await.expect("the group");
    let cluster = Arc::new(Memory::default());
    // The pool cannot hold back as much as nine nodes, so that any use is too much.
    cluster.set_tolerance(9);
    let first = ids(&group().await);
    first.iter().for_each(|id| cluster.join(id));
    cluster.run_on(&first[0]);

    let ahead = Arc::new(AtomicI64::new(0));
    let clock: Clock = {
        let ahead = ahead.clone();
        Arc::new(move || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos();
            i64::try_from(since).expect("a time") + ahead.load(Ordering::Relaxed)
        })
    };
    let settings = Settings { cluster_interval: Duration::from_millis(100), ..Settings::default() };
    let providers = [(ProviderKind::Aws, aws.clone() as Arc<dyn Provider>)].into();
    let autoscaler =
        Autoscaler::new(settings, cluster.clone(), providers, Arc::new(Nobody), Metrics::default(), None, clock);
    let running = tokio::spawn({
        let autoscaler = autoscaler.clone();
        async move { autoscaler.run().await }
    });
    let until = async |what: &str, holds: &dyn Fn(&PoolStatus) -> bool| {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let pools = autoscaler.pools();
            if let Some(pool) = pools.iter().find(|p| holds(p)) {
                return pool.clone();
            }
            assert!(Instant::now() < deadline, "{what}: {pools:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let new = async |known: &[String]| loop {
        if let Some(id) = ids(&group().await).into_iter().find(|id| !known.contains(id)) {
            return id;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    };

    // Out: the new instance joins.
    let third = new(&first).await;
    cluster.join(&third);
    until("three nodes", &|p| p.nodes == 3).await;

    // Out again: this one never joins. It is terminated, and the group starts another one.
    let mut known = [first, vec![third]].concat();
    let never = new(&known).await;
    until("the node is waited for", &|p| p.operation.contains("to become")).await;
    ahead.store(301 * 1_000_000_000, Ordering::Relaxed);
    until("a failure is counted", &|p| p.failures == 1).await;
    known.push(never.clone());
    let fourth = new(&known).await;
    assert!(!group().await.has(&never));
    cluster.join(&fourth);
    let full = until("four nodes, and no more", &|p| {
        p.nodes == 4 && p.operation.is_empty() && p.last_decision.action == Action::Denied
    });
    let full = full.await;
    assert_eq!((full.failures, full.direction.as_str()), (0, "out"), "{full:?}");
    assert_eq!((group().await.desired, group().await.instances.len()), (4, 4));

    // In: node by node, down to the bound of group and pool.
    cluster.stop_work();
    cluster.set_tolerance(0);
    let one = until("one node, and no fewer", &|p| {
        p.nodes == 1 && p.operation.is_empty() && p.last_decision.action == Action::Denied
    });
    let one = one.await;
    assert_eq!((one.failures, one.failsafe, cluster.nodes()), (0, false, 1), "{one:?}");
    assert_eq!((group().await.desired, group().await.instances.len()), (1, 1));
    running.abort();
}

/// Run by [`groups_of_moto`], with an environment.
#[tokio::test]
async fn the_environment_is_enough() {
    if std::env::var_os(CHILD).is_some() {
        let group = Aws::new().group(WEB).await.expect("the group");
        println!("the group has {} instances", ids(&group).len());
    }
}

fn refusal(code: &str) -> String {
    format!(
        "<ErrorResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\"><Error><Type>Sender</Type>\
         <Code>{code}</Code><Message>not\u{85}now</Message></Error><RequestId>1</RequestId></ErrorResponse>"
    )
}

#[tokio::test]
async fn refusals_have_kinds() {
    for (status, code, want) in [
        (400, "Throttling", ProviderError::Throttled("Throttling: not\\u{85}now".into())),
        (403, "AccessDenied", ProviderError::Denied("AccessDenied: not\\u{85}now".into())),
        (403, "ExpiredToken", ProviderError::Denied("ExpiredToken: not\\u{85}now".into())),
        (400, "ValidationError", ProviderError::Failed("ValidationError: not\\u{85}now".into())),
        (500, "InternalFailure", ProviderError::Failed("InternalFailure: not\\u{85}now".into())),
    ] {
        let url = serve(Canned::Reply(status, refusal(code)));
        assert_eq!(aws(&url).group(WEB).await, Err(want), "{code}");
    }
}

#[tokio::test]
async fn answers_without_sense() {
    for (status, body) in [(200, "<html>"), (200, ""), (502, "bad gateway"), (200, "{}")] {
        let url = serve(Canned::Reply(status, body.into()));
        let error = aws(&url).group(WEB).await.expect_err("an error");
        let begin =
            format!("the provider's answer is invalid: HTTP status {status}: unhandled error: error parsing XML");
        assert!(error.to_string().starts_with(&begin), "{body:?}: {error}");
    }
    let nobody = Aws::with(AwsSettings { endpoint: Some("http://127.0.0.1:1".into()), keys: keys(), timeout: None });
    let error = nobody.group(WEB).await.expect_err("an error");
    assert!(matches!(&error, ProviderError::Failed(text) if text.contains("Connection refused")), "{error:?}");
}

#[tokio::test]
async fn answers_are_bounded() {
    let began = Instant::now();
    let url = serve(Canned::Endless);
    let error = aws(&url).group(WEB).await;
    assert_eq!(error, Err(ProviderError::Invalid("it is longer than 8 MiB".into())));
    let url = serve(Canned::Silence);
    let timeout = Some(Duration::from_millis(500));
    let hanging = Aws::with(AwsSettings { endpoint: Some(url), keys: keys(), timeout });
    assert_eq!(hanging.terminate(WEB, "i-1", true).await, Err(ProviderError::Timeout(1)));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
