//! Converts errors of the SDK to errors of a provider, by the error codes of the services.

use std::error::Error;
use std::time::Duration;

use aws_sdk_autoscaling::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use http_body_util::LengthLimitError;

use crate::provider::{ProviderError, limits};

/// The meaning of an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Throttled,
    Denied,
    Other,
}

fn meaning(code: &str) -> Meaning {
    match code {
        "Throttling"
        | "ThrottlingException"
        | "ThrottledException"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "RequestLimitExceeded"
        | "TooManyRequestsException"
        | "SlowDown" => Meaning::Throttled,
        "AccessDenied"
        | "AccessDeniedException"
        | "UnauthorizedOperation"
        | "AuthFailure"
        | "OptInRequired"
        | "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "IncompleteSignature"
        | "MissingAuthenticationToken"
        | "ExpiredToken"
        | "ExpiredTokenException" => Meaning::Denied,
        _ => Meaning::Other,
    }
}

/// The error of a call that may take `limit`.
pub(super) fn provider_error<E>(error: SdkError<E, HttpResponse>, limit: Duration) -> ProviderError
where
    E: ProvideErrorMetadata + Error + 'static,
{
    match &error {
        SdkError::TimeoutError(_) => limits::timeout(limit),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => limits::timeout(limit),
        _ if is_too_long(&error) => limits::too_long(),
        SdkError::ServiceError(service) => {
            let (error, status) = (service.err(), service.raw().status());
            let code = error.code().unwrap_or("an error without a code");
            let text = limits::message(format!("{code}: {}", error.message().unwrap_or("no message")).as_bytes());
            match meaning(code) {
                Meaning::Throttled => ProviderError::Throttled(text),
                Meaning::Denied => ProviderError::Denied(text),
                // An error that is not XML has no code.
                Meaning::Other if error.code().is_none() => {
                    ProviderError::Invalid(shown(&format!("HTTP status {}: ", status.as_u16()), error))
                }
                Meaning::Other => ProviderError::Failed(text),
            }
        }
        SdkError::ResponseError(_) => ProviderError::Invalid(shown("", &error)),
        _ => ProviderError::Failed(shown("", &error)),
    }
}

/// An error with all that led to it.
fn shown(before: &str, error: &dyn Error) -> String {
    let mut text = format!("{before}{error}");
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(&format!(": {error}"));
        next = error.source();
    }
    limits::message(text.as_bytes())
}

/// Whether the answer was cut because of its length.
fn is_too_long(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<LengthLimitError>() {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        assert_eq!(meaning("Throttling"), Meaning::Throttled);
        assert_eq!(meaning("AccessDenied"), Meaning::Denied);
        assert_eq!(meaning("ValidationError"), Meaning::Other);
        assert_eq!(meaning("throttling"), Meaning::Other);
    }
}
