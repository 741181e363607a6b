//! Errors of the SDK as errors of a provider. Services name their errors by codes.

use std::error::Error;

use aws_sdk_autoscaling::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use http_body_util::LengthLimitError;

use crate::provider::{ProviderError, limits};

/// What the code of an error stands for.
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
pub(super) fn provider_error<E, R>(error: SdkError<E, R>, limit: std::time::Duration) -> ProviderError
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    let shown = |e: &dyn Error| limits::message(DisplayErrorContext(e).to_string().as_bytes());
    match &error {
        SdkError::TimeoutError(_) => limits::timeout(limit),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => limits::timeout(limit),
        _ if is_too_long(&error) => limits::too_long(),
        SdkError::ServiceError(service) => {
            let error = service.err();
            let code = error.code().unwrap_or("an error without a code");
            let text = limits::message(format!("{code}: {}", error.message().unwrap_or("no message")).as_bytes());
            match meaning(code) {
                Meaning::Throttled => ProviderError::Throttled(text),
                Meaning::Denied => ProviderError::Denied(text),
                // What is no XML has no code.
                Meaning::Other if error.code().is_none() => ProviderError::Invalid(shown(error)),
                Meaning::Other => ProviderError::Failed(text),
            }
        }
        SdkError::ResponseError(_) => ProviderError::Invalid(shown(&error)),
        _ => ProviderError::Failed(shown(&error)),
    }
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
